import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

/** What was entered into a field of the dialog, by its name; an empty text when nothing was. */
export type Entered = (name: string) => string;

/** Something a person is about to do, as the dialog shows it. */
export interface Proposal {
  readonly title: string;
  /** What it means, in a sentence. */
  readonly text: string;
  /** Says how much would change; asked for when the dialog opens. */
  preview?(): Promise<string>;
  /** Fields of a form, above the one for the reason. */
  readonly fields?: ComponentChildren;
  /** The word on the button. */
  readonly confirm: string;
  /** Whether it destroys or ends something. */
  readonly isDangerous?: boolean;
  /** Does it, and says what came of it. */
  run(reason: string | undefined, entered: Entered): Promise<string>;
}

/** A message that goes away by itself. */
export interface Toast {
  readonly id: number;
  readonly kind: "done" | "failed";
  readonly text: string;
}

const doneMs = 6_000;
const failedMs = 15_000;

/** What the dialog asks about at present. */
export const proposal = signal<Proposal | undefined>(undefined);

/** Messages on the screen, the oldest first. */
export const toasts = signal<readonly Toast[]>([]);

let lastId = 0;

/** Opens the dialog. */
export function propose(next: Proposal): void {
  proposal.value = next;
}

/** Shows a message. */
export function tell(kind: Toast["kind"], text: string): void {
  const id = ++lastId;
  toasts.value = [...toasts.value, { id, kind, text }];
  setTimeout(() => dismiss(id), kind === "done" ? doneMs : failedMs);
}

/** Takes a message away. */
export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
