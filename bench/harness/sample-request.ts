/** What the runner asks a process of its own for, as its one argument. */
export interface SampleRequest {
  readonly scenario: string;
  readonly contender: string;
  readonly size: unknown;
  readonly folder: string;
  readonly url: string;
  readonly warmUpUrl: string;
}

/** What precedes the sample on the line that answers. */
export const samplePrefix = "sample ";
