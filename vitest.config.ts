import { defineConfig } from "vitest/config";

/**
 * Three projects: `unit` needs nothing but Node, `integration` shares one embedded PostgreSQL
 * (started by the global set-up) from which every test clones its own database, `browser` adds a
 * built dashboard and a Chromium that looks at it.
 */
const integrationTests = ["src/**/*.integration.test.ts", "tests/**/*.test.ts"];
const browserTests = ["tests/browser/**/*.test.ts"];

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "scripts/**/*.test.ts",
            "bench/harness/*.test.ts",
            "dashboard/**/*.test.ts",
          ],
          exclude: integrationTests,
        },
      },
      {
        test: {
          name: "integration",
          include: integrationTests,
          exclude: browserTests,
          globalSetup: ["src/testing/global-setup.ts", "tests/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "browser",
          include: browserTests,
          globalSetup: [
            "src/testing/global-setup.ts",
            "tests/global-setup.ts",
            "tests/browser/global-setup.ts",
          ],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
