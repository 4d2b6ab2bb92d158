/** A server for tests; only what they use. */
declare module "@20minutes/s3rver" {
  interface ListOptions {
    readonly delimiter?: string;
    readonly prefix?: string;
    readonly maxKeys?: number;
  }
  interface Listing {
    readonly objects: readonly { readonly key: string }[];
    readonly commonPrefixes: readonly string[];
    readonly isTruncated: boolean;
  }
  // biome-ignore lint/style/noDefaultExport: it is how the package exports it.
  export default class S3rver {
    constructor(options: {
      readonly address: string;
      readonly port: number;
      readonly silent: boolean;
      readonly allowMismatchedSignatures: boolean;
      readonly directory: string;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    readonly store: {
      listObjects(bucket: string, options: ListOptions): Promise<Listing>;
    };
    run(): Promise<{ readonly address: string; readonly port: number }>;
    close(): Promise<void>;
  }
}
