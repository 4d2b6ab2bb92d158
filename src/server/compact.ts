import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";

const gzipped = promisify(gzip);

/** Smaller answers fit into one packet anyway. */
const worthwhileBytes = 1_400;

/**
 * Spares the network: an answer that the client has already is not sent again (ETag), and a large one is
 * compressed for those who understand that.
 */
export async function sendCompact(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  const isText = typeof payload === "string" || Buffer.isBuffer(payload);
  if (!isText || payload.length < worthwhileBytes || reply.getHeader("content-encoding")) return payload;
  if (request.method === "GET" && reply.statusCode === 200) {
    const etag = `W/"${createHash("sha1").update(payload).digest("base64url")}"`;
    void reply.header("etag", etag).header("cache-control", reply.getHeader("cache-control") ?? "no-cache");
    if (request.headers["if-none-match"] === etag) {
      void reply.code(304).removeHeader("content-length");
      return null;
    }
  }
  if (!/\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""))) return payload;
  const compressed = await gzipped(payload, { level: 1 });
  void reply
    .header("content-encoding", "gzip")
    .header("vary", "accept-encoding")
    .header("content-length", compressed.length);
  return compressed;
}
