import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { call } from "./api.ts";
import { useData } from "./data.ts";
import icon from "./icon.svg";
import { isHelpShown, screens } from "./keyboard.ts";
import { type Connection, connection, isPaused } from "./live.ts";
import { path } from "./router.ts";
import { logOut, mayAct, session } from "./session.ts";

const connectionTexts: Readonly<Record<Connection, string>> = {
  connecting: "Connecting",
  live: "Live",
  paused: "Paused",
  blurred: "Paused without focus",
  hidden: "Paused in the background",
  lost: "Connection lost",
};

/** Navigation, connection state and viewer around a screen. */
export function Shell({ children }: { children: ComponentChildren }) {
  return (
    <div class="shell">
      <a class="skip-link" href="#main">
        Skip to the content
      </a>
      <header class="side">
        <Brand />
        <Navigation />
        <SideFoot />
      </header>
      <main class="main" id="main">
        {children}
      </main>
    </div>
  );
}

/** Name and sign. */
export function Brand() {
  return (
    <a class="brand" href="/">
      <img src={icon} alt="" />
      Tallyman
    </a>
  );
}

function Navigation() {
  const overview = useData("overview", (signal) => call("GET /api/overview", { signal }), ["overview"]);
  const waiting = overview.data?.commands.inTroubleshooting ?? 0;
  const shown = screens.filter(({ isForAdmins }) => !isForAdmins || mayAct("admin"));
  const list = useRef<HTMLElement>(null);
  // On narrow screens the list scrolls sideways.
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path.value]);
  return (
    <nav class="nav" aria-label="Screens" ref={list}>
      {shown.map(({ name, href }) => (
        <a key={href} href={href} aria-current={isCurrent(href) ? "page" : undefined}>
          {name}
          {name === "Troubleshooting" && waiting > 0 && <span class="nav-count">{compact(waiting)}</span>}
        </a>
      ))}
    </nav>
  );
}

function isCurrent(href: string): boolean {
  return href === "/" ? path.value === "/" : path.value === href || path.value.startsWith(`${href}/`);
}

function compact(count: number): string {
  return new Intl.NumberFormat("en", { notation: "compact" }).format(count);
}

function SideFoot() {
  return (
    <div class="side-foot">
      <ConnectionRow />
      <ViewerRow />
      <HelpRow />
    </div>
  );
}

function ConnectionRow() {
  const state = connection.value;
  const toggle = () => {
    isPaused.value = !isPaused.value;
  };
  return (
    <div class="side-row">
      <span class={`connection connection-${state}`} role="status">
        {connectionTexts[state]}
      </span>
      <button type="button" class="button button-small" aria-pressed={isPaused.value} onClick={toggle}>
        {isPaused.value ? "Resume" : "Pause"}
      </button>
    </div>
  );
}

function ViewerRow() {
  const { actor, role, isRequired } = session.value ?? {};
  return (
    <div class="side-row">
      <span class="viewer" title={`role: ${role}`}>
        {actor} <span class="faint">({role})</span>
      </span>
      {isRequired && (
        <button type="button" class="button-link" onClick={() => void logOut()}>
          Log out
        </button>
      )}
    </div>
  );
}

function HelpRow() {
  const show = () => {
    isHelpShown.value = true;
  };
  return (
    <div class="side-row side-help">
      <button type="button" class="button-link" onClick={show}>
        Keys <kbd>?</kbd>
      </button>
      <a href="/docs" data-outside>
        API
      </a>
    </div>
  );
}
