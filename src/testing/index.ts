/**
 * Testing: what Tallyman's tests and its users' tests share, published as `tallyman/testing`.
 *
 * Tests don't sleep: time is a {@link FakeClock} that the test moves, or a signal that it awaits. Tests don't
 * overlook: {@link LogCapture} fails on a WARN or ERROR that nobody declared.
 */
export { FakeClock } from "./fake-clock.ts";
export { type ExpectedLog, LogCapture } from "./log-capture.ts";
