import { Service } from "../runtime/index.ts";
import { ErrorLog } from "./error-log.ts";
import type { Monitorable } from "./monitorable.ts";
import type { OperationalError } from "./operational-error.ts";

/**
 * A service that can be watched: healthy unless it is in state ERROR, with a bounded list of what went
 * wrong. A subclass adds its own figures in {@link getMetrics}, which must stay constant-time.
 *
 * @example
 * ```ts
 * class Sweeper extends MonitoredService {
 *   #swept = 0;
 *   override getMetrics() {
 *     return { ...super.getMetrics(), files_swept: this.#swept };
 *   }
 *   protected override async runOnce(signal: AbortSignal) {
 *     this.#swept += await sweep(signal);
 *   }
 * }
 * ```
 */
export abstract class MonitoredService extends Service implements Monitorable {
  protected readonly errors: ErrorLog = new ErrorLog();

  getMetrics(): Readonly<Record<string, number>> {
    return { error_count: this.errors.size };
  }

  isHealthy(): boolean {
    return this.state !== "ERROR";
  }

  getErrors(): readonly OperationalError[] {
    return this.errors.list();
  }

  clearErrors(): void {
    this.errors.clear();
  }
}
