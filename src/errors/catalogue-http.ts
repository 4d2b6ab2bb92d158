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
    remedy: "Listen on 127.0.0.1, and put a proxy that authenticates in front of it.",
  },
} as const satisfies Record<string, CatalogueEntry>;
