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
 *   #reads = 0;
 *
 *   async getMetadata(runId: string) {
 *     this.#reads++;
 *     return selectMetadata(runId).catch((error: Error) => {
 *       this.#errors.add({ code: "GET_METADATA_FAILED", message: error.message, details: `Run: ${runId}` });
 *       throw error;
 *     });
 *   }
 *   getMetrics() {
 *     return { metadata_reads: this.#reads, error_count: this.#errors.size };
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
