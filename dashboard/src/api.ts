import {
  type Api,
  ApiError,
  type ApiRequest,
  type RouteKey,
  TallymanClient,
} from "../../src/client/index.ts";
import { logInAgain } from "./session.ts";

const client = new TallymanClient();

/** What a route answers. */
export type Answer<Key extends RouteKey> = Api[Key]["data"];

/** Items of a route that answers with a page. */
export type ItemOf<Key extends RouteKey> = Answer<Key> extends { items: (infer Item)[] } ? Item : never;

/**
 * Calls one route of the API; a session that has ended leads to the log-in.
 *
 * @throws ApiError
 */
export async function call<Key extends RouteKey>(
  key: Key,
  ...request: object extends ApiRequest<Key> ? [ApiRequest<Key>?] : [ApiRequest<Key>]
): Promise<Answer<Key>> {
  return client.call(key, ...request).catch(noticeEnd);
}

/**
 * The binary form of a route's answer.
 *
 * @throws ApiError
 */
export async function bytesOf<Key extends RouteKey>(
  key: Key,
  request: ApiRequest<Key>,
): Promise<ArrayBuffer> {
  return client.bytes(key, request).catch(noticeEnd);
}

function noticeEnd(error: unknown): never {
  if (error instanceof ApiError && error.code === "TOKEN_REQUIRED") logInAgain();
  throw error;
}

/** What went wrong, for people. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
