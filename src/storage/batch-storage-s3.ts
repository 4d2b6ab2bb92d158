import { Readable } from "node:stream";
import type { HeadObjectCommandOutput, ListObjectsV2CommandOutput, S3Client } from "@aws-sdk/client-s3";
import { type GivenOptions, required, resolveOptions, wholeNumber } from "../runtime/index.ts";
import { rawFolderOf } from "./batch-file.ts";
import { BatchStorage, type BatchStorageOptions, batchStorageDefaults } from "./batch-storage.ts";
import { objectStoreError, statusOf } from "./object-store-error.ts";
import type { PutMode, RunFolder, StorageDriver, StoredBytes } from "./storage-driver.ts";
import { isRunId } from "./storage-key.ts";

/** Settings of a storage in a bucket. */
export interface S3StorageOptions extends BatchStorageOptions {
  /** The bucket; it must exist. */
  readonly bucket: string;
  /** Put before every key, so that a bucket may be shared. Default none. */
  readonly keyPrefix: string;
  /** Default us-east-1, which servers of your own ignore. */
  readonly region: string;
  /** `http://host:9000` of a server of your own (MinIO, Ceph, R2, …); AWS without it. */
  readonly endpoint: string | undefined;
  /** Bucket in the path instead of the host name. Default: true with an endpoint, else false. */
  readonly forcePathStyle: boolean | undefined;
  /** Without both keys, the credentials of the environment, as every AWS tool finds them. */
  readonly accessKeyId: string | undefined;
  readonly secretAccessKey: string | undefined;
  /** Files larger than this are sent in parts of this size; three are held in memory. Default 8 MiB. */
  readonly partBytes: number;
}

/** S3 accepts no smaller parts, save the last. */
const partBytesMin = 5 * 1024 * 1024;
const partsInFlight = 2;
const attemptsMax = 5;
/** Runs whose age is looked up at the same time. */
const runLookupsMax = 16;

const s3Defaults = {
  ...batchStorageDefaults,
  bucket: required,
  keyPrefix: "",
  region: "us-east-1",
  endpoint: undefined,
  forcePathStyle: undefined,
  accessKeyId: undefined,
  secretAccessKey: undefined,
  partBytes: 8 * 1024 * 1024,
} as const;

/**
 * Batch files in a bucket of S3, or of any server that speaks its language. An object is visible as a
 * whole or not at all by S3's own rules; files larger than `partBytes` travel in parts, and an upload
 * that fails takes its parts away.
 *
 * Two producers that write one key at the same moment are told apart by a conditional PUT; a server that
 * ignores the condition keeps the later file, which is the same file when both wrote the same records.
 *
 * @example
 * ```ts
 * const storage = new S3Storage({ bucket: "ticks", endpoint: "http://localhost:9000" });
 * ```
 */
export class S3Storage extends BatchStorage {
  /** @throws TallymanError INVALID_OPTION */
  constructor(options: GivenOptions<S3StorageOptions>) {
    const resolved = resolveOptions<S3StorageOptions>(s3Defaults, options, {
      bucket: (bucket) => (bucket === "" ? "a bucket's name" : undefined),
      partBytes: wholeNumber({ min: partBytesMin }),
    });
    const { codec, readBytesMax, metricsWindowSeconds } = resolved;
    super(new S3Driver(resolved), { codec, readBytesMax, metricsWindowSeconds });
  }
}

class S3Driver implements StorageDriver {
  readonly place: string;
  readonly #options: S3StorageOptions;
  #connection: Promise<Connection> | undefined;

  constructor(options: S3StorageOptions) {
    this.#options = options;
    this.place = `s3://${options.bucket}/${options.keyPrefix}`;
  }

  async put(key: string, chunks: AsyncIterable<Uint8Array>, mode: PutMode): Promise<"written" | "exists"> {
    const failure = { chunks: undefined as unknown };
    const { client, sdk } = await this.#connect();
    const upload = new sdk.Upload({
      client,
      params: {
        ...this.#object(key),
        Body: Readable.from(keepingError(chunks, failure), { objectMode: false }),
        ...(mode === "create" && { IfNoneMatch: "*" }),
      },
      partSize: this.#options.partBytes,
      queueSize: partsInFlight,
    });
    try {
      await upload.done();
      return "written";
    } catch (error) {
      if (failure.chunks !== undefined) throw failure.chunks;
      if (mode === "create" && statusOf(error) === 412) return "exists";
      throw objectStoreError(error, "write", key);
    }
  }

  async open(key: string): Promise<StoredBytes> {
    try {
      const { client, sdk } = await this.#connect();
      const head = await client.send(new sdk.HeadObjectCommand(this.#object(key)));
      return this.#storedObject(key, head);
    } catch (error) {
      throw objectStoreError(error, "read", key);
    }
  }

  async firstExisting(keys: readonly string[]): Promise<string | undefined> {
    const [shortest = ""] = keys.toSorted((a, b) => a.length - b.length);
    const { Contents = [] } = await this.#list({ prefix: shortest, keysMax: keys.length + 1 });
    const found = new Set(Contents.map(({ Key }) => Key));
    return keys.find((key) => found.has(this.#options.keyPrefix + key));
  }

  async listFolder(folder: string): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const page of this.#pages(folder)) names.push(...page);
    return names;
  }

  async listRuns(): Promise<RunFolder[]> {
    const runIds = (await this.listFolder("")).filter(isRunId);
    const runs: RunFolder[] = [];
    for (let at = 0; at < runIds.length; at += runLookupsMax)
      runs.push(...(await Promise.all(runIds.slice(at, at + runLookupsMax).map((id) => this.#firstOf(id)))));
    return runs;
  }

  async close(): Promise<void> {
    const connection = await this.#connection;
    connection?.client.destroy();
  }

  #connect(): Promise<Connection> {
    this.#connection ??= connect(this.#options);
    return this.#connection;
  }

  #object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#options.bucket, Key: this.#options.keyPrefix + key };
  }

  /** Later reads ask for the version that was opened, and fail when it is gone. */
  #storedObject(key: string, head: HeadObjectCommandOutput): StoredBytes {
    const get = async (from: number) => {
      const range = from > 0 ? { Range: `bytes=${from}-` } : {};
      const version = head.ETag === undefined ? {} : { IfMatch: head.ETag };
      const { client, sdk } = await this.#connect();
      const { Body } = await client.send(
        new sdk.GetObjectCommand({ ...this.#object(key), ...range, ...version }),
      );
      return Body as Readable;
    };
    return {
      size: head.ContentLength ?? 0,
      writtenAtMs: head.LastModified?.getTime() ?? 0,
      async *stream(from = 0) {
        try {
          for await (const chunk of await get(from)) yield chunk as Uint8Array;
        } catch (error) {
          throw objectStoreError(error, "read", key);
        }
      },
      close: async () => undefined,
    };
  }

  /** The age of a run is that of its first batch file, for metadata is written again at the end; or of what it has. */
  async #firstOf(runId: string): Promise<RunFolder> {
    const ofBatches = await this.#firstWrittenAtMs(rawFolderOf(runId));
    return { runId, firstWrittenAtMs: ofBatches ?? (await this.#firstWrittenAtMs(`${runId}/`)) ?? 0 };
  }

  async #firstWrittenAtMs(prefix: string): Promise<number | undefined> {
    const { Contents = [] } = await this.#list({ prefix, keysMax: 1 });
    return Contents[0]?.LastModified?.getTime();
  }

  async *#pages(folder: string): AsyncGenerator<string[]> {
    const prefixLength = this.#options.keyPrefix.length + folder.length;
    let token: string | undefined;
    do {
      const page = await this.#list({ prefix: folder, delimiter: "/", token });
      const folders = (page.CommonPrefixes ?? []).map(({ Prefix = "" }) => Prefix.slice(prefixLength, -1));
      yield [...folders, ...(page.Contents ?? []).map(({ Key = "" }) => Key.slice(prefixLength))];
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  async #list(query: ListQuery): Promise<ListObjectsV2CommandOutput> {
    const { prefix, delimiter, token, keysMax } = query;
    const { client, sdk } = await this.#connect();
    const command = new sdk.ListObjectsV2Command({
      Bucket: this.#options.bucket,
      Prefix: this.#options.keyPrefix + prefix,
      Delimiter: delimiter,
      ContinuationToken: token,
      MaxKeys: keysMax,
    });
    try {
      return await client.send(command);
    } catch (error) {
      throw objectStoreError(error, "list", prefix);
    }
  }
}

interface ListQuery {
  readonly prefix: string;
  readonly delimiter?: string;
  readonly token?: string | undefined;
  readonly keysMax?: number;
}

interface Connection {
  readonly client: S3Client;
  readonly sdk: Awaited<ReturnType<typeof loadSdk>>;
}

/** Loaded with the first request: the SDK takes 300 ms, and most processes keep their files in a folder. */
async function loadSdk() {
  const [client, library] = await Promise.all([import("@aws-sdk/client-s3"), import("@aws-sdk/lib-storage")]);
  return { ...client, Upload: library.Upload };
}

/** Our own checksums cover every byte, so the SDK's, which not every server knows, are left off. */
async function connect(options: S3StorageOptions): Promise<Connection> {
  const sdk = await loadSdk();
  const { region, endpoint, accessKeyId, secretAccessKey } = options;
  const credentials = accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey } : undefined;
  const client = new sdk.S3Client({
    region,
    forcePathStyle: options.forcePathStyle ?? endpoint !== undefined,
    maxAttempts: attemptsMax,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials && { credentials }),
  });
  return { client, sdk };
}

/** Keeps the records' own error, which the SDK would wrap, for the caller. */
async function* keepingError(
  chunks: AsyncIterable<Uint8Array>,
  failure: { chunks: unknown },
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    failure.chunks = error;
    throw error;
  }
}
