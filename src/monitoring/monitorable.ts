import type { OperationalError } from "./operational-error.ts";

/**
 * What every service, resource and wrapper tells about itself.
 *
 * All four methods take constant time, do no I/O, never wait and never throw: they are called by every
 * scrape, and most urgently when the component is in trouble.
 *
 * @example
 * ```ts
 * class Reader implements Monitorable {
 *   readonly #errors = new ErrorLog();
 *   readonly #get = new TimedOperation({
 *     code: "GET_METADATA_FAILED",
 *     message: "Failed to read metadata",
 *     errors: this.#errors,
 *   });
 *
 *   getMetadata(runId: string) {
 *     return this.#get.run(`Run: ${runId}`, () => selectMetadata(runId));
 *   }
 *   getMetrics() {
 *     return {
 *       read_errors: this.#get.failures.value,
 *       error_count: this.#errors.size,
 *       ...latencyMetrics("get_metadata_latency", this.#get.latency),
 *     };
 *   }
 *   isHealthy() {
 *     return true;
 *   }
 *   getErrors() {
 *     return this.#errors.list();
 *   }
 *   clearErrors() {
 *     this.#errors.clear();
 *   }
 * }
 * ```
 */
export interface Monitorable {
  /** Present values by name; the names and their units are listed in metric-names.ts. */
  getMetrics(): Readonly<Record<string, number>>;
  /** False when the component can't do its work. */
  isHealthy(): boolean;
  /** The latest failures, oldest first. */
  getErrors(): readonly OperationalError[];
  clearErrors(): void;
}
