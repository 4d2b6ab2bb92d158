/** What one part of the demo showed. */
export interface DemoPart {
  readonly success: boolean;
  /** For `--json`, under the part's name. */
  readonly data: Readonly<Record<string, unknown>>;
  /** For people, one line. */
  readonly text: string;
}
