import type { Api } from "../api/api-routes.ts";
import { ApiError } from "./api-error.ts";
import { jsonBody, NdjsonBody, type Values } from "./request-body.ts";

/** A method and a path of the API. */
export type RouteKey = keyof Api & string;

type Given<Name extends string, Part> = keyof Part extends never
  ? { readonly [K in Name]?: Part }
  : object extends Part
    ? { readonly [K in Name]?: Part }
    : { readonly [K in Name]: Part };

/** A long list may come bit by bit. */
type Streamable<Body> = Body extends readonly (infer Item)[] ? Body | AsyncIterable<Item> : Body;

/** What a route takes: required parts are required. */
export type ApiRequest<Key extends RouteKey> = Given<"params", Api[Key]["params"]> &
  Given<"query", Api[Key]["query"]> &
  Given<"body", Streamable<Api[Key]["body"]>> & {
    /** Makes a creating call safe to repeat. */
    readonly idempotencyKey?: string;
    readonly signal?: AbortSignal;
  };

/** Calls routes of the API, wherever they run. */
export interface Caller {
  call<Key extends RouteKey>(
    key: Key,
    ...request: object extends ApiRequest<Key> ? [ApiRequest<Key>?] : [ApiRequest<Key>]
  ): Promise<Api[Key]["data"]>;
}

/** Where the server is, and who asks. */
export interface TallymanClientOptions {
  /** Such as http://127.0.0.1:8082; empty for the page's own server. */
  readonly url?: string;
  readonly token?: string;
  /** Longest time for one call. Default 30 s. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

interface AnyRequest {
  readonly params?: object;
  readonly query?: object;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

interface Envelope {
  readonly success: boolean;
  readonly data?: unknown;
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly details: Record<string, unknown>;
  };
}

const timeoutMsDefault = 30_000;

/** Calls the API over HTTP. Holds no connection: nothing to close. */
export class TallymanClient implements Caller {
  readonly #url: string;
  readonly #token: string | undefined;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;

  /** @throws ApiError INVALID_OPTION for a URL with user or password, which would be told in errors */
  constructor(options: TallymanClientOptions = {}) {
    this.#url = serverUrlOf(options.url ?? "");
    this.#token = options.token;
    this.#timeoutMs = options.timeoutMs ?? timeoutMsDefault;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /**
   * Calls one route and returns the data of its answer.
   *
   * @throws ApiError with the code that the server gave; SERVER_UNREACHABLE when there was no answer
   */
  async call<Key extends RouteKey>(
    key: Key,
    ...[request = {} as ApiRequest<Key>]: object extends ApiRequest<Key>
      ? [ApiRequest<Key>?]
      : [ApiRequest<Key>]
  ): Promise<Api[Key]["data"]> {
    return dataOf(await this.#send(key, request as AnyRequest)) as Promise<Api[Key]["data"]>;
  }

  /**
   * Calls a route that has a binary form, and returns that.
   *
   * @throws ApiError as {@link call}
   */
  async bytes<Key extends RouteKey>(key: Key, request: ApiRequest<Key>): Promise<ArrayBuffer> {
    const { query, ...rest } = request as AnyRequest;
    const response = await this.#send(key, { ...rest, query: { ...query, format: "binary" } });
    return response.ok ? response.arrayBuffer() : (dataOf(response) as Promise<never>);
  }

  async #send(key: string, request: AnyRequest): Promise<Response> {
    const [method = "GET", path = "/"] = key.split(" ");
    const { signal } = request;
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    const isNdjson = key.endsWith("/import");
    const hasBody = method !== "GET" && method !== "DELETE";
    const content = isNdjson ? new NdjsonBody(request.body as Values) : jsonBody(request.body);
    try {
      return await this.#fetch(`${this.#url}${pathOf(path, request)}`, {
        method,
        headers: this.#headers(request, hasBody ? isNdjson : undefined),
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        ...(hasBody && content.init()),
      });
    } catch (cause) {
      if (signal?.aborted) throw cause;
      content.rethrow();
      const message = `No answer from ${this.#url || "the server"}: ${reasonOf(cause)}.`;
      throw new ApiError(0, { code: "SERVER_UNREACHABLE", message }, { cause });
    }
  }

  #headers({ idempotencyKey }: AnyRequest, isNdjson: boolean | undefined): Record<string, string> {
    return {
      ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      ...(isNdjson !== undefined && {
        "content-type": isNdjson ? "application/x-ndjson" : "application/json",
      }),
    };
  }
}

/** Without the slash at the end. */
function serverUrlOf(url: string): string {
  if (!/^[^/]*\/\/[^/]*@/.test(url)) return url.replace(/\/$/, "");
  const message = "The server's URL can't have a user or password. Give a token instead.";
  throw new ApiError(0, { code: "INVALID_OPTION", message });
}

/** The data of a success; a failure is thrown. */
async function dataOf(response: Response): Promise<unknown> {
  const envelope = (await response.json().catch(() => undefined)) as Envelope | undefined;
  if (response.ok && envelope?.success) return envelope.data;
  const told = envelope?.error;
  // A proxy on the way has errors of its own form.
  const isOurs = typeof told?.code === "string" && typeof told.message === "string";
  const error = isOurs ? told : { code: "INTERNAL", message: `The server answered ${response.status}.` };
  throw new ApiError(response.status, error);
}

function pathOf(path: string, { params = {}, query = {} }: AnyRequest): string {
  const filled = path.replace(/:(\w+)/g, (_match, name: string) =>
    encodeURIComponent(String((params as Record<string, unknown>)[name])),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? filled : `${filled}?${search}`;
}

function reasonOf(cause: unknown): string {
  const { message, cause: inner } = cause as Error;
  return inner instanceof Error && inner.message !== "" ? inner.message : message;
}
