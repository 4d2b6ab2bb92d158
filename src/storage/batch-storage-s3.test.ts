import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BatchInfoSchema } from "../contracts/index.ts";
import { type StorageConformanceContext, storageConformance } from "../testing/index.ts";
import { metadataKey, S3Storage } from "./index.ts";

/**
 * The suite runs against a server in this process, or against the endpoint of TALLYMAN_TEST_S3_ENDPOINT with
 * the bucket of TALLYMAN_TEST_S3_BUCKET (which it fills under prefixes of its own, and does not empty) and the
 * credentials of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
 */
const given = process.env.TALLYMAN_TEST_S3_ENDPOINT;
const bucket = process.env.TALLYMAN_TEST_S3_BUCKET ?? "tallyman-test";
const credentials = {
  accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? "S3RVER",
  secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? "S3RVER",
};

let endpoint: string;
let client: S3Client;
let stopServer = async (): Promise<void> => undefined;

beforeAll(async () => {
  endpoint = given ?? (await startServer());
  client = new S3Client({
    endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { ...credentials },
  });
});

afterAll(async () => {
  client.destroy();
  await stopServer();
});

async function startServer(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "tallyman-s3-"));
  const options = { address: "127.0.0.1", port: 0, silent: true, directory, allowMismatchedSignatures: true };
  const server = new S3rver({ ...options, configureBuckets: [{ name: bucket }] });
  listNestedFolders(server);
  const { port } = await server.run();
  stopServer = async () => {
    await server.close();
    await rm(directory, { recursive: true });
  };
  return `http://127.0.0.1:${port}`;
}

/**
 * s3rver 4.0.4 looks only one folder deep for common prefixes, so a folder that holds nothing but folders is
 * missing from its answers. Here it lists without delimiter, and the keys are grouped as S3 does it. Nor does it
 * say that there is more: its tokens need a cipher that is no longer in OpenSSL.
 */
function listNestedFolders(server: S3rver): void {
  const list = server.store.listObjects.bind(server.store);
  server.store.listObjects = async (name, options) => {
    const { delimiter, prefix = "" } = options;
    if (!delimiter) return { ...(await list(name, options)), isTruncated: false };
    const all = await list(name, { ...options, delimiter: "", maxKeys: Number.POSITIVE_INFINITY });
    const endOf = (key: string) => key.indexOf(delimiter, prefix.length) + 1;
    const folders = all.objects
      .filter(({ key }) => endOf(key) > 0)
      .map(({ key }) => key.slice(0, endOf(key)));
    const objects = all.objects.filter(({ key }) => endOf(key) === 0);
    return { objects, commonPrefixes: [...new Set(folders)], isTruncated: false };
  };
}

/** A prefix of its own for each case is as good as an empty bucket. */
function newContext(): StorageConformanceContext & AsyncDisposable {
  const keyPrefix = `${randomUUID()}/`;
  const at = (key: string) => ({ Bucket: bucket, Key: keyPrefix + key });
  const opened: S3Storage[] = [];
  return {
    exclusiveCreate: given !== undefined, // the server in this process ignores conditions
    open(options = {}) {
      const storage = new S3Storage({ bucket, endpoint, keyPrefix, ...credentials, ...options });
      opened.push(storage);
      return storage;
    },
    async writeRaw(key, bytes) {
      await client.send(new PutObjectCommand({ ...at(key), Body: bytes }));
    },
    async readRaw(key) {
      const { Body } = await client.send(new GetObjectCommand(at(key)));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
    async remove(key) {
      await client.send(new DeleteObjectCommand(at(key)));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((storage) => storage.close()));
    },
  };
}

describe("S3Storage conforms:", () => {
  for (const { name, run } of storageConformance) {
    it(name, async () => {
      await using context = newContext();
      await run(context);
    });
  }
});

describe("S3Storage", () => {
  /** Not compressible, so that it needs several parts. */
  function* noise(records: number): Generator<Buffer> {
    for (let index = 0; index < records; index++)
      yield Buffer.from(
        Uint32Array.from({ length: 50_000 }, (_, n) => Math.imul(index * 50_000 + n, 2654435761)).buffer,
      );
  }

  it("sends a large file in parts, and streams it back", { timeout: 60_000 }, async () => {
    await using context = newContext();
    const storage = context.open({ codec: "none" });
    const file = await storage.writeBatch("run-1", 0, 99, noise(100));
    expect(file.bytes).toBeGreaterThan(20_000_000);
    await using batch = await storage.openBatch(file.key);
    const expected = noise(100);
    for await (const { bytes } of batch.records())
      expect(Buffer.compare(bytes, expected.next().value as Buffer)).toBe(0);
    expect(expected.next().done).toBe(true);
  });

  it("shows nothing of a large file whose records fail midway", { timeout: 60_000 }, async () => {
    await using context = newContext();
    async function* failing() {
      yield* noise(60);
      throw new Error("the source failed");
    }
    const storage = context.open({ codec: "none" });
    await expect(storage.writeBatch("run-1", 0, 99, failing())).rejects.toThrow("the source failed");
    expect((await storage.listBatchFiles("run-1", undefined, 10)).files).toEqual([]);
  });

  it("takes a run to be as old as its first batch file, whenever metadata is written again", async () => {
    await using context = newContext();
    const storage = context.open();
    for (const start of [0, 10]) await storage.writeBatch("run-1", start, start + 9, [Buffer.from("a")]);
    const began = new Date();
    // The server's times are in seconds.
    await expect.poll(() => Date.now() - began.getTime(), { timeout: 5_000 }).toBeGreaterThan(1_100);
    await storage.writeMessage(metadataKey("run-1"), BatchInfoSchema, create(BatchInfoSchema));
    await storage.writeMessage(metadataKey("run-2"), BatchInfoSchema, create(BatchInfoSchema));
    expect(await storage.listRunIds(began)).toEqual(["run-2"]);
    expect(await storage.listRunIds()).toEqual(["run-1", "run-2"]);
  });

  it("says when the bucket is missing, or nobody answers", { timeout: 60_000 }, async () => {
    await using storage = new S3Storage({ bucket: "no-such-bucket", endpoint, ...credentials });
    await expect(storage.listRunIds()).rejects.toMatchObject({ code: "STORAGE_UNAVAILABLE" });
    await using nobody = new S3Storage({ bucket, endpoint: "http://127.0.0.1:1", ...credentials });
    await expect(nobody.writeBatch("run-1", 0, 9, [])).rejects.toMatchObject({ code: "STORAGE_UNAVAILABLE" });
    expect(nobody.isHealthy()).toBe(false);
  });

  it("asks for a new key only when it is free, and for the version that it opened", async () => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      const { "if-none-match": ifNoneMatch, "if-match": ifMatch } = request.headers;
      seen.push(`${request.method} ${ifNoneMatch ?? ""}${ifMatch ?? ""}`.trim());
      if (request.method === "HEAD") response.writeHead(200, { etag: '"v1"', "content-length": "9000000" });
      else if (request.method === "GET" && request.url?.includes("list-type"))
        response.writeHead(200).write("<ListBucketResult></ListBucketResult>");
      else response.writeHead(412);
      request.resume().on("end", () => response.end());
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await using storage = new S3Storage({ bucket, endpoint: own, ...credentials });
      await storage.writeBatch("run-1", 0, 9, []).catch(() => undefined);
      expect(seen).toContain("PUT *");
      expect(seen).toContain('GET "v1"');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it("checks its options", () => {
    expect(() => new S3Storage({} as { bucket: string })).toThrowError(/bucket/);
    expect(() => new S3Storage({ bucket: "x", partBytes: 1 })).toThrowError(/partBytes/);
    expect(() => new S3Storage({ bucket: "x", codec: "zip" as "none" })).toThrowError(/codec/);
  });
});
