import { type CatalogueEntry, type ErrorCode, errorCatalogue } from "./catalogue.ts";

/** What an error carries beside its message. */
export interface TallymanErrorOptions {
  /** Data fields for programs: ids, limits, the offending value. Never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The error underneath. */
  readonly cause?: unknown;
}

/**
 * The base class of every error that Tallyman throws on purpose.
 *
 * @example
 * ```ts
 * try {
 *   await tallyman.migrate();
 * } catch (error) {
 *   if (isTallymanError(error, "DATABASE_UNREACHABLE")) retryLater(error.details);
 *   else throw error;
 * }
 * ```
 */
export class TallymanError extends Error {
  override readonly name: string = "TallymanError";
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: TallymanErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }

  /** This code's row of the catalogue: HTTP status, exit code, meaning, remedy. */
  get entry(): CatalogueEntry {
    return errorCatalogue[this.code];
  }
}

/** True when `error` is a {@link TallymanError}, of the given code when one is named. */
export function isTallymanError(error: unknown, code?: ErrorCode): error is TallymanError {
  return error instanceof TallymanError && (code === undefined || error.code === code);
}

/** The error itself when it is ours; PostgreSQL's as DATABASE_ERROR, anything else as INTERNAL. */
export function toTallymanError(error: unknown): TallymanError {
  if (error instanceof TallymanError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  if (typeof code === "string" && typeof severity === "string") {
    const details = { sqlState: code };
    return new TallymanError("DATABASE_ERROR", `PostgreSQL refused: ${message} (SQLSTATE ${code})`, {
      cause: error,
      details,
    });
  }
  return new TallymanError("INTERNAL", message, { cause: error });
}
