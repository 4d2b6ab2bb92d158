import { signal } from "@preact/signals";
import { isPaused } from "./live.ts";
import { navigate } from "./router.ts";

interface Screen {
  readonly name: string;
  readonly href: string;
  /** Follows a `g`. */
  readonly letter: string;
  /** Only those who may do everything are led there. */
  readonly isForAdmins?: boolean;
}

/** The screens in the order of the navigation. */
export const screens: readonly Screen[] = [
  { name: "Overview", href: "/", letter: "o" },
  { name: "Batches", href: "/batches", letter: "b" },
  { name: "Troubleshooting", href: "/troubleshooting", letter: "t" },
  { name: "Pipeline", href: "/pipeline", letter: "p" },
  { name: "World", href: "/world", letter: "w" },
  { name: "Fleet", href: "/fleet", letter: "f" },
  { name: "Audit", href: "/audit", letter: "a" },
  { name: "Access", href: "/access", letter: "s", isForAdmins: true },
];

/** Every key and what it does, for the help. */
export const keys: readonly (readonly [keys: string, meaning: string])[] = [
  ["?", "show these keys"],
  ["j / k", "next, previous row"],
  ["Enter", "open the row"],
  ["x", "select the row"],
  ["/", "go to the filter"],
  ["Esc", "close what is open"],
  ["Space", "pause or resume live updates; on the world: play"],
  ...screens.map(({ name, letter }) => [`g ${letter}`, `go to ${name}`] as const),
];

/** Whether the list of keys is shown. */
export const isHelpShown = signal(false);

/** Whether the last key was a `g`: a screen's letter may follow, however late. */
let isAfterG = false;

/** Heeds keys wherever nobody types. */
export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || belongsTo(event.target, event.key)) return;
    if (handle(event.key)) event.preventDefault();
  });
}

function handle(key: string): boolean {
  const screen = isAfterG ? screens.find(({ letter }) => letter === key) : undefined;
  isAfterG = key === "g";
  const effect = screen ? () => navigate(screen.href) : effects[key];
  effect?.();
  return isAfterG || effect !== undefined;
}

const effects: Readonly<Record<string, () => void>> = {
  "?": () => {
    isHelpShown.value = true;
  },
  "/": () => document.querySelector<HTMLElement>("[data-filter]")?.focus(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: () => document.activeElement?.querySelector<HTMLElement>("input[type=checkbox]")?.click(),
  " ": () => {
    const play = document.querySelector<HTMLElement>("[data-play]");
    if (play) play.click();
    else isPaused.value = !isPaused.value;
  },
  Escape: () => document.querySelector<HTMLElement>("[data-close]")?.click(),
};

function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-row]")];
  const focused = document.activeElement?.closest<HTMLElement>("[data-row]");
  const present = focused ? rows.indexOf(focused) : -1;
  const next = present === -1 ? (step > 0 ? 0 : rows.length - 1) : present + step;
  rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus();
}

/** A key in a field, and a space on a button, mean what they mean there; all keys are an open dialog's. */
function belongsTo(target: EventTarget | null, key: string): boolean {
  // Its button loses the focus to the page while it works.
  if (document.querySelector("dialog[open]")) return true;
  if (!(target instanceof HTMLElement)) return false;
  if (key === " " && target.closest("button, a, summary, input")) return true;
  return target.matches("input:not([type=checkbox]), textarea, select");
}
