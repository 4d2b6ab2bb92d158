import { defineConfig } from "vitest/config";

/**
 * `unit` needs nothing but Node, `integration` shares one embedded PostgreSQL (started by the global set-up) from
 * which every test clones its own database. What keeps all processors busy comes after them, alone: `browser` adds a
 * built dashboard and a Chromium that looks at it, `faults` has fleets of processes that are broken on purpose.
 */
const integrationTests = ["src/**/*.integration.test.ts", "tests/**/*.test.ts"];
const browserTests = ["tests/browser/**/*.test.ts"];
const faultTests = ["tests/chaos.test.ts", "tests/*-crash.test.ts"];

/** Bounds of waiting for what must come, also on a busy machine: they cost nothing while all is well. */
const timeouts = { testTimeout: 180_000, hookTimeout: 240_000, expect: { poll: { timeout: 20_000 } } };
const globalSetup = ["src/testing/global-setup.ts", "tests/global-setup.ts"];

export default defineConfig({
  test: {
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
          ...timeouts,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "integration",
          include: integrationTests,
          exclude: [...browserTests, ...faultTests],
          globalSetup,
          ...timeouts,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "browser",
          include: browserTests,
          globalSetup: [...globalSetup, "tests/browser/global-setup.ts"],
          ...timeouts,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "faults",
          include: faultTests,
          globalSetup,
          ...timeouts,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
