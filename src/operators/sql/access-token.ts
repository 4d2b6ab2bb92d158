import type { Executor } from "../../database/index.ts";
import type { Role } from "../access-tokens.ts";

/** A token as it is stored. */
export interface TokenRow {
  readonly tokenId: string;
  readonly name: string;
  readonly role: Role;
  readonly canViewPayloads: boolean;
  readonly secretHash: Buffer;
  readonly sessionOf: string | null;
  readonly createdBy: string;
  readonly expiresInMs: number | null;
}

/** Stores a token. */
export async function insertToken(executor: Executor, token: TokenRow): Promise<void> {
  await executor.query(
    `INSERT INTO tallyman.access_token
       (token_id, name, role, can_view_payloads, secret_hash, session_of, created_by, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp() + $8::double precision * interval '1 ms')`,
    [
      token.tokenId,
      token.name,
      token.role,
      token.canViewPayloads,
      token.secretHash,
      token.sessionOf,
      token.createdBy,
      token.expiresInMs,
    ],
  );
}

/** A token that may be used now, and the hash of its secret. */
export interface ValidToken {
  readonly tokenId: string;
  readonly name: string;
  readonly role: Role;
  readonly canViewPayloads: boolean;
  readonly secretHash: Buffer;
  readonly sessionOf: string | null;
}

/** The token of this id, unless it, or the one that it is a session of, is revoked or expired. */
export async function selectValidToken(executor: Executor, tokenId: string): Promise<ValidToken | undefined> {
  const { rows } = await executor.query<ValidToken>(
    `SELECT t.token_id AS "tokenId", t.name, t.role, t.can_view_payloads AS "canViewPayloads",
            t.secret_hash AS "secretHash", t.session_of AS "sessionOf"
     FROM tallyman.access_token t LEFT JOIN tallyman.access_token p ON p.token_id = t.session_of
     WHERE t.token_id = $1 AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
       AND p.revoked_at IS NULL AND (p.expires_at IS NULL OR p.expires_at > clock_timestamp())`,
    [tokenId],
  );
  return rows[0];
}

/** Whether there is a token that nobody has revoked; one that has expired still keeps the door shut. */
export async function hasToken(executor: Executor): Promise<boolean> {
  const { rows } = await executor.query<{ exists: boolean }>(
    "SELECT EXISTS (SELECT FROM tallyman.access_token WHERE session_of IS NULL AND revoked_at IS NULL)",
  );
  return rows[0]?.exists ?? false;
}

/** A token as operators see it. */
export interface TokenInfo {
  readonly tokenId: string;
  readonly name: string;
  readonly role: Role;
  readonly canViewPayloads: boolean;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** All tokens but sessions, newest first. */
export async function selectTokens(executor: Executor): Promise<TokenInfo[]> {
  const { rows } = await executor.query<TokenInfo>(
    `SELECT token_id AS "tokenId", name, role, can_view_payloads AS "canViewPayloads", created_by AS "createdBy",
            created_at AS "createdAt", expires_at AS "expiresAt", revoked_at AS "revokedAt"
     FROM tallyman.access_token WHERE session_of IS NULL ORDER BY created_at DESC, token_id LIMIT 1000`,
  );
  return rows;
}

/** Revokes a token for good; false when it is unknown or was revoked before. */
export async function revokeToken(executor: Executor, tokenId: string): Promise<boolean> {
  const { rowCount } = await executor.query(
    "UPDATE tallyman.access_token SET revoked_at = clock_timestamp() WHERE token_id = $1 AND revoked_at IS NULL",
    [tokenId],
  );
  return rowCount === 1;
}

/** Forgets sessions that are over. */
export async function deleteOldSessions(executor: Executor): Promise<void> {
  await executor.query(
    `DELETE FROM tallyman.access_token
     WHERE session_of IS NOT NULL AND (expires_at < clock_timestamp() OR revoked_at IS NOT NULL)`,
  );
}
