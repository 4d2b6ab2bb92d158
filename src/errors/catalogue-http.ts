import { type CatalogueEntry, exitCodes } from "./catalogue-entry.ts";

/** Rows of the HTTP API. */
export const httpCodes = {
  REQUEST_INVALID: {
    status: 400,
    exit: exitCodes.usage,
    meaning: "A request to the HTTP API lacks a parameter, or has one that it does not understand.",
    remedy: "The message names the field and what it accepts.",
  },
  REQUEST_TOO_LARGE: {
    status: 413,
    exit: exitCodes.usage,
    meaning: "The body of a request is larger than the HTTP API takes.",
    remedy: "Send less at once.",
  },
  REQUEST_TIMED_OUT: {
    status: 408,
    exit: exitCodes.error,
    meaning:
      "A request to the HTTP API was not there as a whole within the time that the server waits for one.",
    remedy: "Send it faster or in parts, or raise server.requestTimeoutMs.",
  },
  REQUEST_FORBIDDEN: {
    status: 403,
    exit: exitCodes.error,
    meaning: "A request came from another web site, or under a host name that is not this server's.",
    remedy: "Use the address that the server prints when it starts; other sites' pages may not use the API.",
  },
  ROUTE_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "The HTTP API has no such path, or not with this method.",
    remedy: "Compare path and method with the documentation.",
  },
  PUBLIC_BIND_REFUSED: {
    status: 422,
    exit: exitCodes.usage,
    meaning: "The HTTP API was to listen where other machines reach it, without access tokens.",
    remedy: "Make a token with `tallyman token create` first, or listen on 127.0.0.1.",
  },
  SERVER_UNREACHABLE: {
    status: 503,
    exit: exitCodes.error,
    meaning: "The server that TALLYMAN_URL names did not answer.",
    remedy: "Start it with `tallyman up` or `tallyman coordinator`, or correct the address.",
  },
  NOT_READY: {
    status: 503,
    exit: exitCodes.error,
    meaning: "The process runs but can't work yet: migrations are pending, or a part of it is not healthy.",
    remedy: "The message names what is missing; `tallyman doctor` says more.",
  },
  TOKEN_REQUIRED: {
    status: 401,
    exit: exitCodes.error,
    meaning: "The server asks for an access token, and none was sent, or one that is not in force.",
    remedy: "Send `Authorization: Bearer <token>`, or log in; `tallyman token create` makes a token.",
  },
  ROLE_INSUFFICIENT: {
    status: 403,
    exit: exitCodes.error,
    meaning: "The access token's role does not allow this.",
    remedy: "Use a token of the role that the message names.",
  },
  TOKEN_NOT_FOUND: {
    status: 404,
    exit: exitCodes.notFound,
    meaning: "No access token of this id is in force.",
    remedy: "`tallyman token list` shows all tokens.",
  },
  TOO_MANY_REQUESTS: {
    status: 429,
    exit: exitCodes.error,
    meaning: "The client sends more requests, or more wrong tokens, than the server takes.",
    remedy: "Wait as long as the Retry-After header says.",
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    exit: exitCodes.error,
    meaning: "The Idempotency-Key was sent before with another request.",
    remedy: "Choose a new key for a new request; repeat a request with exactly the same body.",
  },
} as const satisfies Record<string, CatalogueEntry>;
