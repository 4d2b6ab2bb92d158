import { expect, it } from "vitest";
import { TallymanClient } from "./client.ts";

it.each([
  ['{"error":"Request Timeout","statusCode":408}', 408],
  ["<html>Bad Gateway</html>", 502],
  ["null", 503],
])("says what a proxy on the way answered, whatever its form: %s", async (body, status) => {
  const client = new TallymanClient({
    url: "http://proxy.example",
    fetch: async () => new Response(body, { status }),
  });
  await expect(client.call("GET /api/overview")).rejects.toMatchObject({
    status,
    code: "INTERNAL",
    message: `The server answered ${status}.`,
  });
});
