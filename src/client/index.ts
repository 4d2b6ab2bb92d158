/**
 * A typed client of the HTTP API, for Node and browsers. Its types are those of the server's routes; it has no code of
 * its own but the sending.
 *
 * ```ts
 * const client = new TallymanClient({ url: "http://127.0.0.1:8082" });
 * const { batchId } = await client.call("POST /api/domains/:domain/batches", {
 *   params: { domain: "orders" },
 *   body: { name: "Evening run", commands: [{ commandType: "ShipOrder", data: { orderId: 7 } }] },
 * });
 * ```
 */
export type { Api } from "../api/api-routes.ts";
export { ApiError } from "./api-error.ts";
export {
  type ApiRequest,
  type Caller,
  type RouteKey,
  TallymanClient,
  type TallymanClientOptions,
} from "./client.ts";
export { decodeWorld, type WorldColumns } from "./decode-world.ts";
