import { signal } from "@preact/signals";

const tickMs = 1_000;

/** The present time in milliseconds, a second at a time, for ages that grow on the screen. */
export const now = signal(Date.now());

setInterval(() => {
  now.value = Date.now();
}, tickMs);
