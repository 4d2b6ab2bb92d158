/**
 * Testing: what our tests and our users' tests share.
 *
 * Every test has a database of its own, cloned from a migrated template on a real PostgreSQL, and ends
 * by proving that it left no connection, service or temporary folder behind and logged no warning that
 * it did not expect. Time is faked where time matters; processes are real, and die at named points.
 */
export { crashPoint } from "../runtime/index.ts";
export { Child, type ChildExit, type ChildOptions, startChild } from "./child.ts";
export { FakeClock } from "./fake-clock.ts";
export { type ExpectedLog, LogCapture } from "./log-capture.ts";
export { type SetupOptions, setup, type TestContext } from "./setup.ts";
export type { StorageConformanceCase, StorageConformanceContext } from "./storage/conformance-case.ts";
export { hostileKeys } from "./storage/hostile-keys.ts";
export { storageConformance } from "./storage/storage-conformance.ts";
