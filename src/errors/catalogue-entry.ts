/** Exit codes of the CLI, as documented in docs/errors.md. */
export const exitCodes = {
  ok: 0,
  error: 1,
  usage: 2,
  notFound: 3,
  batchEndedWithFailures: 4,
  migrationPending: 5,
  databaseUnreachable: 6,
} as const;

/** One row of the catalogue: what a code means and how each interface reports it. */
export interface CatalogueEntry {
  /** HTTP status of a response that carries this code. */
  readonly status: number;
  /** Exit code of a CLI command that ends with this code. */
  readonly exit: number;
  /** What happened, in one sentence. */
  readonly meaning: string;
  /** What the reader can do about it. */
  readonly remedy: string;
}
