/**
 * Operators: who may use the HTTP API, and what people did.
 *
 * **Model.** An access token has a name, a role (`read` looks, `operate` repairs and sends, `admin` does everything)
 * and, apart from its role, the right to see payloads. Its text is `tm_<id>_<secret>`; only a hash of the secret is
 * stored. A session is a token made of another one by a log-in, and ends with it. An operator action is one row
 * that says who did what to how much and why; the transaction that acted writes it.
 *
 * **Invariants.** No action without its row, no row without its action. A call that creates under an idempotency
 * key creates once, however often it is sent: the key is stored by the creating transaction.
 *
 * **Failure.** Tokens are cached for a second or so: one that was revoked may be used until then.
 */
export {
  AccessTokens,
  type Caller,
  type CreateTokenOptions,
  type Role,
  roles,
  type TokenInfo,
} from "./access-tokens.ts";
export { createOnce } from "./create-once.ts";
export {
  listOperatorActions,
  type OperatorAction,
  type OperatorActionFilter,
  recordAction,
} from "./sql/operator-action.ts";
