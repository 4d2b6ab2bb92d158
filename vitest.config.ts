import { defineConfig } from "vitest/config";

/**
 * Two projects: `unit` needs nothing but Node, `integration` shares one embedded PostgreSQL
 * (started by the global set-up) from which every test clones its own database.
 */
const integrationTests = ["src/**/*.integration.test.ts", "tests/**/*.test.ts"];

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "unit",
          include: ["src/**/*.test.ts", "scripts/**/*.test.ts", "bench/harness/*.test.ts"],
          exclude: integrationTests,
        },
      },
      {
        test: {
          name: "integration",
          include: integrationTests,
          globalSetup: ["src/testing/global-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
