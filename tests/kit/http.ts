import { Tallyman } from "../../src/app/index.ts";
import { TallymanClient } from "../../src/client/index.ts";
import type { Role } from "../../src/operators/index.ts";
import { createServer, type HttpServerOptions } from "../../src/server/index.ts";
import type { OpenApiDocument, Operation } from "../../src/server/openapi.ts";
import type { TestContext } from "../../src/testing/index.ts";

/** A server on a free port, and a client of it. */
export async function openServer(t: TestContext, options: Partial<HttpServerOptions> = {}) {
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const server = t.use(createServer(tallyman, { port: 0, ...options }));
  await server.start();
  return { tallyman, server, client: new TallymanClient({ url: server.url }) };
}

/** A token of each role; from now on the server asks for them. */
export async function createTokens({ tokens }: Tallyman): Promise<Record<Role, string>> {
  const create = async (role: Role) => (await tokens.create({ name: role, role, createdBy: "test" })).token;
  return { read: await create("read"), operate: await create("operate"), admin: await create("admin") };
}

/** One operation of the OpenAPI document. */
export interface Documented {
  readonly key: string;
  readonly method: string;
  /** With `{name}` for each part that varies. */
  readonly path: string;
  readonly operation: Operation;
}

/** Every operation that the server documents. */
export async function documented(url: string): Promise<Documented[]> {
  const response = await fetch(`${url}/openapi.json`);
  const { paths } = (await response.json()) as OpenApiDocument;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const upper = method.toUpperCase();
      return { key: `${upper} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`, method: upper, path, operation };
    }),
  );
}

/** Values for the parts of one request. */
export interface Parts {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/** Sends a request for an operation, with parts as they are, right or wrong; an empty part would be another path. */
export function request(
  url: string,
  { method, path, operation }: Documented,
  { path: values = {}, query = {}, body }: Parts,
  { token, signal }: { token?: string | undefined; signal?: AbortSignal } = {},
): Promise<Response> {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(Buffer.from(String(values[name]) || " ").toString()),
  );
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const [type] = Object.keys(operation.requestBody?.content ?? {});
  return fetch(`${url}${filled}${search.size > 0 ? `?${search}` : ""}`, {
    method,
    redirect: "manual",
    headers: { ...(type && { "content-type": type }), ...(token && { authorization: `Bearer ${token}` }) },
    ...(type && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
}
