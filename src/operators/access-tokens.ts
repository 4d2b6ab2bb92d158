import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Database } from "../database/index.ts";
import { TallymanError } from "../errors/index.ts";
import { type GivenOptions, oneOf, required, resolveOptions, systemClock } from "../runtime/index.ts";
import {
  deleteOldSessions,
  hasToken,
  insertToken,
  revokeToken,
  selectTokens,
  selectValidToken,
  type TokenInfo,
  type ValidToken,
} from "./sql/access-token.ts";

export type { TokenInfo } from "./sql/access-token.ts";

/** What a caller may do, from least to most. */
export const roles = ["read", "operate", "admin"] as const;

/** `read` looks, `operate` sends and repairs, `admin` does everything. */
export type Role = (typeof roles)[number];

/** Who asks. */
export interface Caller {
  /** For the audit. */
  readonly actor: string;
  readonly role: Role;
  readonly canViewPayloads: boolean;
  /** The token behind it; null for whoever needs none. */
  readonly tokenId: string | null;
  /** True for a session, which a log-out ends. */
  readonly isSession: boolean;
}

/** A new token. */
export interface CreateTokenOptions {
  /** For people: who or what uses it. */
  readonly name: string;
  readonly role: Role;
  /** Whether it may see the data and results of commands. Default true. */
  readonly canViewPayloads: boolean;
  /** Default: never. */
  readonly expiresInMs?: number;
  readonly createdBy: string;
}

const idBytes = 6;
const secretBytes = 32;
const nameLettersMax = 100;
const sessionMs = 12 * 3_600_000;
const tokenPattern = /^tm_([0-9a-f]{12})_([A-Za-z0-9_-]{43})$/;
/** How long the database's word is good: a statement per request would halve what a server can answer. */
const cachedMs = 1_000;
const cachedMax = 1_000;

interface Cached<T> {
  readonly value: T;
  readonly atMs: number;
}

/**
 * The access tokens of one database. Safe to share.
 *
 * @example
 * ```ts
 * const { token } = await tokens.create({ name: "grafana", role: "read", createdBy: "mia" });
 * const caller = await tokens.authenticate(token);
 * ```
 */
export class AccessTokens {
  readonly #database: Database;
  readonly #known = new Map<string, Cached<ValidToken | undefined>>();
  #any: Cached<boolean> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Makes a token. Its text is told here and never again.
   *
   * @throws TallymanError INVALID_OPTION
   */
  async create(given: GivenOptions<CreateTokenOptions>): Promise<{ tokenId: string; token: string }> {
    const options = resolveOptions<CreateTokenOptions>(
      { name: required, role: required, canViewPayloads: true, expiresInMs: undefined, createdBy: required },
      given,
      { name: validName, role: oneOf(...roles) },
    );
    return this.#insert({ ...options, sessionOf: null });
  }

  /** Every token, newest first; sessions are not listed. */
  list(): Promise<TokenInfo[]> {
    return selectTokens(this.#database);
  }

  /**
   * Ends a token, and every session made of it.
   *
   * @throws TallymanError TOKEN_NOT_FOUND when there is none of this id that is still in force
   */
  async revoke(tokenId: string): Promise<void> {
    const isRevoked = await revokeToken(this.#database, tokenId);
    this.#known.clear();
    this.#any = undefined;
    if (isRevoked) return;
    throw new TallymanError("TOKEN_NOT_FOUND", `No token '${tokenId}' is in force.`, {
      details: { tokenId },
    });
  }

  /** Whether there are tokens, also expired ones; while there are none, nobody is asked for one on loopback. */
  async areInUse(): Promise<boolean> {
    if (this.#any && isFresh(this.#any)) return this.#any.value;
    const value = await hasToken(this.#database);
    this.#any = { value, atMs: systemClock.monotonicMs() };
    return value;
  }

  /** Who has this token; undefined when it is none, or is expired or revoked. */
  async authenticate(text: string): Promise<Caller | undefined> {
    const [, tokenId, secret] = tokenPattern.exec(text) ?? [];
    if (tokenId === undefined || secret === undefined) return undefined;
    const found = await this.#find(tokenId);
    if (!found || !timingSafeEqual(hashOf(secret), found.secretHash)) return undefined;
    const { name: actor, role, canViewPayloads } = found;
    return { actor, role, canViewPayloads, tokenId, isSession: found.sessionOf !== null };
  }

  /** Makes a session of a token: the same rights for half a day, under a secret of its own. */
  async openSession({ actor, role, canViewPayloads, tokenId, isSession }: Caller): Promise<string> {
    if (isSession)
      throw new TallymanError("INVALID_STATE", "A session can't be made of a session: log in with a token.");
    await deleteOldSessions(this.#database);
    const session = { name: actor, role, canViewPayloads, createdBy: actor, expiresInMs: sessionMs };
    return (await this.#insert({ ...session, sessionOf: tokenId })).token;
  }

  async #insert(token: CreateTokenOptions & { readonly sessionOf: string | null }) {
    const tokenId = randomBytes(idBytes).toString("hex");
    const secret = randomBytes(secretBytes).toString("base64url");
    const secretHash = hashOf(secret);
    const expiresInMs = token.expiresInMs ?? null;
    await insertToken(this.#database, { ...token, tokenId, secretHash, expiresInMs });
    this.#any = undefined;
    return { tokenId, token: `tm_${tokenId}_${secret}` };
  }

  async #find(tokenId: string): Promise<ValidToken | undefined> {
    const known = this.#known.get(tokenId);
    if (known && isFresh(known)) return known.value;
    const value = await selectValidToken(this.#database, tokenId);
    if (this.#known.size >= cachedMax) this.#known.clear();
    this.#known.set(tokenId, { value, atMs: systemClock.monotonicMs() });
    return value;
  }
}

function isFresh({ atMs }: Cached<unknown>): boolean {
  return systemClock.monotonicMs() - atMs < cachedMs;
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function validName(name: string): string | undefined {
  const isValid = name.trim() !== "" && name.length <= nameLettersMax;
  return isValid ? undefined : `1 to ${nameLettersMax} letters`;
}
