import { signal } from "@preact/signals";

/** Whether somebody is likely to look at the page: in a hidden tab nobody is. */
export type Attention = "watched" | "blurred" | "hidden";

/** A window without the focus is left alone for so long: it may be looked at on a second screen. */
const blurredMs = 30_000;

/** What is known of the viewer at present. */
export const attention = signal<Attention>("watched");

let timer: ReturnType<typeof setTimeout> | undefined;

function look(): void {
  clearTimeout(timer);
  attention.value = document.hidden ? "hidden" : "watched";
  if (document.hidden || document.hasFocus()) return;
  timer = setTimeout(() => {
    attention.value = "blurred";
  }, blurredMs);
}

look();
document.addEventListener("visibilitychange", look);
window.addEventListener("focus", look);
window.addEventListener("blur", look);
// The pointer comes to a window before the focus does.
document.documentElement.addEventListener("pointerenter", look);
