import { defineConfig } from "vite";

/** The dashboard becomes static files that the HTTP server of the package serves. */
export default defineConfig({
  root: import.meta.dirname,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    assetsDir: "assets",
    // The server's Content-Security-Policy allows no inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
