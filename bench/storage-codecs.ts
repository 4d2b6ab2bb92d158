/*
 * Figures behind docs/decisions/004-batch-file-format.md: codecs for blocks of TickData, each block by itself.
 *
 *   npm install --no-save snappy lz4-napi @cloudpss/zstd @bokuweb/zstd-wasm @hpcc-js/wasm-zstd @toondepauw/node-zstd
 *   node --import tsx bench/storage-codecs.ts [blockKb…]
 *
 * Packages that are not installed are left out. MB/s are of uncompressed bytes on one thread, the median of RUNS
 * (default 5) passes over the same 1,000 ticks.
 */
import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
} from "node:zlib";
import { worldRecords } from "./storage/world.ts";

interface Codec {
  compress(block: Buffer): Uint8Array;
  decompress(block: Uint8Array, rawBytes: number): Uint8Array;
}

const ticks = 1_000;
const runs = Number(process.env.RUNS ?? 5);
const blockKbs = process.argv.slice(2).map(Number);

const builtIn: Record<string, Codec> = {
  ...Object.fromEntries([1, 3, 6].map((level) => [`gzip ${level}`, gzip(level)])),
  "deflate-raw 1": {
    compress: (block) => deflateRawSync(block, { level: 1 }),
    decompress: (block) => inflateRawSync(block),
  },
  ...Object.fromEntries([0, 1, 3, 5].map((quality) => [`brotli ${quality}`, brotli(quality)])),
};

function gzip(level: number): Codec {
  return { compress: (block) => gzipSync(block, { level }), decompress: (block) => gunzipSync(block) };
}

function brotli(quality: number): Codec {
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality };
  return {
    compress: (block) => brotliCompressSync(block, { params }),
    decompress: (block) => brotliDecompressSync(block),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: packages that need not be installed have no types here.
async function optional(name: string): Promise<any> {
  return import(name).catch(() => undefined);
}

async function packaged(): Promise<Record<string, Codec>> {
  const codecs: Record<string, Codec> = {};
  const snappy = await optional("snappy");
  if (snappy)
    codecs.snappy = { compress: snappy.compressSync, decompress: (block) => snappy.uncompressSync(block) };
  const lz4 = await optional("lz4-napi");
  if (lz4) codecs.lz4 = { compress: lz4.compressSync, decompress: (block) => lz4.uncompressSync(block) };
  const cloudpss = await optional("@cloudpss/zstd/wasm");
  if (cloudpss)
    codecs["zstd 1, @cloudpss wasm"] = {
      compress: (block) => cloudpss.compress(block, 1),
      decompress: cloudpss.decompress,
    };
  const cloudpssNapi = await optional("@cloudpss/zstd/napi");
  if (cloudpssNapi)
    for (const level of [1, 3])
      codecs[`zstd ${level}, @cloudpss napi`] = {
        compress: (block) => cloudpssNapi.compress(block, level),
        decompress: cloudpssNapi.decompress,
      };
  const bokuweb = await optional("@bokuweb/zstd-wasm");
  if (bokuweb) {
    await bokuweb.init();
    codecs["zstd 1, @bokuweb wasm"] = {
      compress: (block) => bokuweb.compress(block, 1),
      decompress: bokuweb.decompress,
    };
  }
  const hpcc = await optional("@hpcc-js/wasm-zstd");
  if (hpcc) {
    const zstd = await hpcc.Zstd.load();
    codecs["zstd 1, @hpcc-js wasm"] = {
      compress: (block) => zstd.compress(block, 1),
      decompress: (block) => zstd.decompress(block),
    };
  }
  return codecs;
}

function blocksOf(blockBytes: number): Buffer[] {
  const blocks: Buffer[] = [];
  let open: Uint8Array[] = [];
  let bytes = 0;
  for (const record of worldRecords(ticks)) {
    open.push(record);
    bytes += record.length;
    if (bytes < blockBytes) continue;
    blocks.push(Buffer.concat(open));
    open = [];
    bytes = 0;
  }
  if (open.length > 0) blocks.push(Buffer.concat(open));
  return blocks;
}

function secondsOf(work: () => void): number {
  const samples = Array.from({ length: runs }, () => {
    const startedMs = performance.now();
    work();
    return performance.now() - startedMs;
  });
  return (samples.sort((a, b) => a - b)[runs >> 1] ?? Number.NaN) / 1000;
}

function row(name: string, codec: Codec, blocks: Buffer[]): string {
  const rawBytes = blocks.reduce((sum, block) => sum + block.length, 0);
  const packed = blocks.map((block) => codec.compress(block));
  packed.forEach((block, index) => {
    const raw = blocks[index] ?? Buffer.alloc(0);
    if (Buffer.compare(Buffer.from(codec.decompress(block, raw.length)), raw) !== 0)
      throw new Error(`${name} lost data`);
  });
  const packedBytes = packed.reduce((sum, block) => sum + block.length, 0);
  const write = secondsOf(() => {
    for (const block of blocks) codec.compress(block);
  });
  const read = secondsOf(() => {
    for (const [index, block] of packed.entries()) codec.decompress(block, blocks[index]?.length ?? 0);
  });
  const mbPerSecond = (seconds: number) => (rawBytes / seconds / 1e6).toFixed(0);
  return `| ${name} | ${(rawBytes / packedBytes).toFixed(2)} | ${mbPerSecond(write)} | ${mbPerSecond(read)} |`;
}

const codecs = { ...builtIn, ...(await packaged()) };
for (const blockKb of blockKbs.length > 0 ? blockKbs : [256]) {
  const blocks = blocksOf(blockKb * 1024);
  const mb = blocks.reduce((sum, block) => sum + block.length, 0) / 1e6;
  console.log(`\n${ticks} ticks, ${mb.toFixed(1)} MB, ${blocks.length} blocks of at least ${blockKb} KB\n`);
  console.log("| codec | ratio | compress MB/s | decompress MB/s |\n| --- | --- | --- | --- |");
  for (const [name, codec] of Object.entries(codecs)) console.log(row(name, codec, blocks));
}
