import type { CallerClient, Transaction } from "../database/index.ts";
import { type GivenOptions, resolveOptions, wholeNumber } from "../runtime/index.ts";

/** Most items of one page. */
export const listPageMax = 1_000;

/** Settings of a {@link CommandBus}. */
export interface CommandBusOptions {
  /** Largest data of one command, as JSON. Default 1 MB. */
  readonly payloadBytesMax: number;
}

/** Where a call's writes go: into the caller's own transaction, or one of their own. */
export interface TransactionOption {
  /** A client inside a transaction that the caller commits, or a {@link Transaction}. */
  readonly tx?: Transaction | CallerClient;
}

/** A page of a domain's commands. */
export interface CommandListOptions {
  /** Default 100, at most 1000. */
  readonly limit: number;
  /** Id of the last command of the page before. */
  readonly cursor?: string;
}

/** Which audit events. */
export interface AuditOptions {
  readonly domain?: string;
  readonly eventType?: string;
  /** Default 100, at most 1000. */
  readonly limit: number;
  /** `auditId` of the last event of the page before. */
  readonly before?: number;
}

/** @throws TallymanError INVALID_OPTION */
export function resolveAuditPage(given: GivenOptions<AuditOptions>) {
  const {
    domain = null,
    eventType = null,
    limit,
    before = null,
  } = resolveOptions<AuditOptions>(
    { domain: undefined, eventType: undefined, limit: 100, before: undefined },
    given,
    { limit: wholeNumber({ max: listPageMax }) },
  );
  return { domain, eventType, limit, before };
}
