import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Validator } from "@seriousme/openapi-schema-validator";
import { generate } from "openapi-typescript-codegen";
import { describe, expect, it } from "vitest";
import { setup } from "../src/testing/index.ts";
import { openServer } from "./kit/http.ts";

/** What the generator makes of the document, as far as it is used here. */
interface Generated {
  readonly OpenAPI: { BASE: string };
  readonly DomainsService: {
    postDomainsDomainBatches(options: object): Promise<{ data: { batchId: string } }>;
  };
  readonly BatchesService: { getBatches(options: object): Promise<{ data: { items: object[] } }> };
}

describe("the OpenAPI document", () => {
  it("is valid, and a client that a public generator makes of it can create and list", async () => {
    await using t = await setup();
    const { server } = await openServer(t);
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as Record<string, unknown>;
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });

    const folder = await t.temporaryFolder();
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    await generate({
      input: document,
      output: join(folder, "client"),
      httpClient: "fetch",
      useOptions: true,
    });
    const client: Generated = await import(pathToFileURL(join(folder, "client", "index.ts")).href);
    client.OpenAPI.BASE = server.url;
    const created = await client.DomainsService.postDomainsDomainBatches({
      domain: "orders",
      requestBody: { name: "By a generated client", commands: [{ commandType: "Ship", data: { id: 1 } }] },
    });
    const { data } = await client.BatchesService.getBatches({ domain: "orders" });
    expect(data.items).toMatchObject([{ batchId: created.data.batchId, name: "By a generated client" }]);
  });

  it("is readable at /docs, without a script", async () => {
    await using t = await setup();
    const { server } = await openServer(t);
    const response = await fetch(`${server.url}/docs`);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'self'");
    const html = await response.text();
    expect(html).toContain("/api/tsq/retry");
    expect(html).not.toContain("<script");
  });
});
