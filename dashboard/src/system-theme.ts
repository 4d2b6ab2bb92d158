import { signal } from "@preact/signals";

const dark = window.matchMedia("(prefers-color-scheme: dark)");

/** What the system asks for; what is drawn on a canvas is drawn anew when it changes. */
export const systemTheme = signal<"light" | "dark">(dark.matches ? "dark" : "light");

dark.addEventListener("change", ({ matches }) => {
  systemTheme.value = matches ? "dark" : "light";
});
