import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { ConnectionError, FastifyError, FastifyReply, FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import { validationError } from "../api/index.ts";
import { errorCatalogue, isTallymanError, TallymanError, toTallymanError } from "../errors/index.ts";
import { logger } from "../runtime/index.ts";
import type { FailureBody } from "./envelope.ts";

const log = logger("server.http");

const tooLarge = 413;
const serverFault = 500;

/** Answers a failed request in the envelope, with the status of its code. */
export async function reportError(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const known = toApiError(error, request);
  const { status } = known.entry;
  const { retryAfterSeconds } = known.details as { retryAfterSeconds?: number };
  if (retryAfterSeconds !== undefined) void reply.header("retry-after", retryAfterSeconds);
  const isUnforeseen = known.code === "INTERNAL";
  if (status >= serverFault && !isTallymanError(error))
    log.error(`${request.method} ${request.routeOptions.url ?? "unknown path"} failed`, {
      requestId: request.id,
      // Not the whole error: a database's tells the values of the row.
      code: error.code,
      stack: error.stack,
    });
  const message = isUnforeseen ? known.entry.meaning : known.message;
  const body: FailureBody = {
    success: false,
    error: { code: known.code, message, details: isUnforeseen ? {} : { ...known.details } },
  };
  return reply.code(status).send(body);
}

/** Answers what never became a request, in the envelope too: too slow, too long, or no HTTP. */
export function reportClientError({ code }: ConnectionError, socket: Socket): void {
  if (code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const { status, error } = clientFaults[code] ?? noHttp;
  const body = JSON.stringify({ success: false, error: { ...error, details: { reason: code } } });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

const noHttp = { status: 400, error: { code: "REQUEST_INVALID", message: "This is no HTTP request." } };

const clientFaults: Readonly<Record<string, typeof noHttp>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: errorCatalogue.REQUEST_TIMED_OUT.status,
    error: { code: "REQUEST_TIMED_OUT", message: errorCatalogue.REQUEST_TIMED_OUT.meaning },
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    error: { code: "REQUEST_TOO_LARGE", message: "The headers of the request are too large." },
  },
};

/** Answers a request for a path that is not there. */
export async function reportUnknownRoute(request: FastifyRequest): Promise<never> {
  const [path = ""] = request.url.split("?");
  throw new TallymanError("ROUTE_NOT_FOUND", `There is no ${request.method} ${path}.`, {
    details: { method: request.method, path },
  });
}

/** Fastify's own errors as ours: what the client did wrong is told with the field, if there is one. */
function toApiError(error: FastifyError, request: FastifyRequest): TallymanError {
  if (isTallymanError(error)) return error;
  const [fault] = error.validation ?? [];
  const part = error.validationContext ?? "request";
  if (fault) return validationError(fault, part, schemasOf(request)[part]);
  const { statusCode = serverFault } = error;
  if (statusCode === tooLarge)
    return new TallymanError("REQUEST_TOO_LARGE", `The request's body is too large: ${error.message}.`);
  if (statusCode < serverFault)
    return new TallymanError("REQUEST_INVALID", error.message, { details: { reason: error.code } });
  return toTallymanError(error);
}

function schemasOf({ routeOptions }: FastifyRequest): Readonly<Record<string, TSchema | undefined>> {
  return (routeOptions.schema ?? {}) as Record<string, TSchema | undefined>;
}
