/** A failure that the server reported, or that kept it from answering. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** The HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** Code of the error catalogue. */
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    error: {
      readonly code: string;
      readonly message: string;
      readonly details?: Readonly<Record<string, unknown>>;
    },
    options?: ErrorOptions,
  ) {
    super(error.message, options);
    this.status = status;
    this.code = error.code;
    this.details = error.details ?? {};
  }
}
