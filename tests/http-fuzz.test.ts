import { Ajv } from "ajv";
import formats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { TallymanClient } from "../src/client/index.ts";
import { setup, type TestContext } from "../src/testing/index.ts";
import { randomFrom } from "./helpers/chaos.ts";
import { createTokens, type Documented, documented, openServer, type Parts, request } from "./kit/http.ts";
import { hostileTexts, plainParts, randomParts, type Schema } from "./kit/schema-samples.ts";

const requests = Number(process.env.FUZZ_REQUESTS ?? 2_000);
const seed = Number(process.env.FUZZ_SEED ?? 7);
const atOnce = 8;
/** Nobody leads here, and nothing is set up that could be reached. */
const expectedUnavailable = new Set(["SCHEDULER_NO_LEADER", "TIMED_OUT"]);

const ajv = new Ajv({ strict: false, allowUnionTypes: true });
formats.default(ajv);

/** Checks an answer: in the envelope, by its schema, and no fault of the server. */
async function judge(operation: Documented, parts: Parts, response: Response): Promise<number> {
  const text = await response.text();
  const what = `${operation.key} ${JSON.stringify(parts)} answered ${response.status}: ${text.slice(0, 300)}`;
  const isRaw = !JSON.stringify(operation.operation.responses["200"]).includes("application/json");
  if (isRaw && response.ok) return response.status;
  const body = JSON.parse(text) as { error?: { code: string } };
  if (response.status >= 500) expect(expectedUnavailable, what).toContain(body.error?.code);
  const { schema } = contentOf(operation, response.ok ? "200" : "4XX");
  const isValid = ajv.validate(schema.$ref ? failureSchema : schema, body);
  expect(isValid, `${what} ${ajv.errorsText()}`).toBe(true);
  return response.status;
}

const failureSchema = {
  type: "object",
  required: ["success", "error"],
  properties: {
    success: { const: false },
    error: {
      type: "object",
      required: ["code", "message", "details"],
      properties: { code: { type: "string" }, message: { type: "string" }, details: { type: "object" } },
    },
  },
};

function contentOf({ operation }: Documented, status: string) {
  const { content } = operation.responses[status] as {
    content: Record<string, { schema: Schema & { $ref?: string } }>;
  };
  return Object.values(content)[0] ?? { schema: {} };
}

const isStream = ({ key }: Documented) => key === "GET /api/events";

async function open(t: TestContext) {
  const { server, tallyman } = await openServer(t);
  const { admin } = await createTokens(tallyman);
  const operations = (await documented(server.url)).filter((operation) => !isStream(operation));
  const send = (operation: Documented, parts: Parts) =>
    request(server.url, operation, parts, { token: admin });
  return { send, operations, client: new TallymanClient({ url: server.url, token: admin }) };
}

describe("hostile requests", () => {
  it("are answered with 400, 404, 409, 413 or 422 and their field, for every part of every route", {
    timeout: 240_000,
  }, async () => {
    await using t = await setup();
    const { send, operations } = await open(t);
    for (const operation of operations) {
      const plain = plainParts(operation);
      for (const parameter of operation.operation.parameters) {
        const place = parameter.in === "path" ? "path" : "query";
        if (!["path", "query"].includes(parameter.in)) continue;
        for (const text of hostileTexts) {
          const parts = { ...plain, [place]: { ...plain[place], [parameter.name]: text } };
          await judge(operation, parts, await send(operation, parts));
        }
      }
      await judge(operation, plain, await send(operation, { ...plain, query: { nonsense: "1" } }));
    }
  });

  it("with a body of the wrong form name the field", async () => {
    await using t = await setup();
    const { send, operations } = await open(t);
    for (const operation of operations.filter((each) => each.operation.requestBody)) {
      const plain = plainParts(operation);
      for (const body of [
        "{",
        "null",
        "[]",
        '"text"',
        "1",
        '{"__proto__":{"polluted":true}}',
        '{"nonsense":1}',
      ]) {
        const status = await judge(operation, { ...plain, body }, await send(operation, { ...plain, body }));
        expect(status, `${operation.key} ${body}`).toBeGreaterThanOrEqual(400);
      }
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it(`by chance break nothing (${requests} requests, seed ${seed})`, {
    timeout: 60_000 + requests * 20,
  }, async () => {
    await using t = await setup();
    const { send, operations, client } = await open(t);
    const next = randomFrom(seed);
    const seen = new Map<number, number>();
    const one = async () => {
      const operation = operations[Math.floor(next() * operations.length)] as Documented;
      const parts = randomParts(operation, next);
      const status = await judge(operation, parts, await send(operation, parts));
      seen.set(status, (seen.get(status) ?? 0) + 1);
    };
    for (let sent = 0; sent < requests; sent += atOnce)
      await Promise.all(Array.from({ length: atOnce }, one));
    expect([...seen.keys()].filter((status) => status === 200)).toEqual([200]);
    expect(await client.call("GET /api/overview")).toBeDefined();
  });
});
