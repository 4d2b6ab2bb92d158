import { type Api, ApiError, type ApiRequest, type Caller, type RouteKey } from "../client/index.ts";
import { type ErrorCode, errorCatalogue, TallymanError } from "../errors/index.ts";

/** Calls a server's API. Its failures are reported as those of this process: with their code's exit code. */
export class RemoteCaller implements Caller {
  readonly #client: Caller;

  constructor(client: Caller) {
    this.#client = client;
  }

  /** @throws TallymanError with the server's code; INTERNAL for one that this version does not know */
  call<Key extends RouteKey>(
    key: Key,
    ...request: object extends ApiRequest<Key> ? [ApiRequest<Key>?] : [ApiRequest<Key>]
  ): Promise<Api[Key]["data"]> {
    return this.#client.call(key, ...request).catch((error: unknown) => {
      throw error instanceof ApiError ? toTallymanError(error) : error;
    });
  }
}

function toTallymanError(error: ApiError): TallymanError {
  const { code, message, details } = error;
  const isKnown = Object.hasOwn(errorCatalogue, code);
  return new TallymanError(
    isKnown ? (code as ErrorCode) : "INTERNAL",
    isKnown ? message : `${message} (${code})`,
    { details, cause: error },
  );
}
