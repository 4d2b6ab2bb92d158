import { expect } from "vitest";
import { Tallyman } from "../../src/app/index.ts";
import { TallymanClient } from "../../src/client/index.ts";
import { createServer, type HttpServer } from "../../src/server/index.ts";
import type { TestContext } from "../../src/testing/index.ts";

/** A server on the test's database, and a client that may do everything. */
export async function openServer(t: TestContext) {
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const server = t.use(createServer(tallyman, { port: 0 }));
  await server.start();
  return { tallyman, server, client: new TallymanClient({ url: server.url }) };
}

/** A request, its body, the status of the answer, and the field that it names or its code. */
export type Refusal = readonly [request: string, body: object | undefined, status: number, why: string];

/** Sends each request as it is and expects it to be refused, with the reason. */
export async function expectRefusals({ url }: HttpServer, refusals: readonly Refusal[]): Promise<void> {
  for (const [request, body, status, why] of refusals) {
    const [method = "GET", path = "/"] = request.split(" ");
    const response = await fetch(`${url}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const answer = (await response.json()) as object;
    const error = status === 400 ? { code: "REQUEST_INVALID", details: { field: why } } : { code: why };
    expect({ request, body, status: response.status, ...answer }).toMatchObject({
      request,
      body,
      status,
      error,
    });
  }
}
