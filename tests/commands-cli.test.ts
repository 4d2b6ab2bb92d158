import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { setup } from "../src/testing/index.ts";
import { json, tallyman } from "./kit/cli.ts";

it("sends, works, repairs and follows a batch from the command line", async () => {
  await using t = await setup();
  const folder = await t.temporaryFolder();
  const file = join(folder, "commands.ndjson");
  const handlers = join(folder, "handlers.mjs");
  const lines = [1, 2, 3, 4].map((orderId) =>
    JSON.stringify({ commandType: "Ship", data: { orderId }, maxAttempts: 1 }),
  );
  await writeFile(file, `${lines.join("\n")}\n\n`);
  await writeFile(
    handlers,
    `export const domain = "orders";
     export const handlers = { Ship: ({ data }) => { if (data.orderId % 2 === 0) throw new Error("order " + data.orderId + " is closed"); } };`,
  );
  const { batchId } = await json(
    t.url,
    "batch",
    "create",
    "--file",
    file,
    "--name",
    "Evening",
    "--domain",
    "orders",
  );
  expect(await json(t.url, "batch", "list", "--domain", "orders")).toMatchObject([
    { batchId, status: "PENDING", totalCount: 4 },
  ]);
  const { commandId } = await json(t.url, "send", "Ship", "--domain", "orders", "--data", '{"orderId": 9}');
  expect(commandId).toMatch(/^[0-9a-f-]{36}$/);

  const worked = await json(t.url, "worker", "--handlers", handlers, "--exit-when-idle");
  expect(worked).toMatchObject({
    domain: "orders",
    metrics: { commands_completed: 3, commands_troubleshooting: 2 },
  });
  const [group] = await json(t.url, "tsq", "groups");
  expect(group).toMatchObject({ count: 2, errorSignature: "Error: order <n> is closed" });

  const preview = await tallyman(t.url, "tsq", "cancel", "--all", "--domain", "orders");
  expect(preview).toMatchObject({
    code: 2,
    out: expect.stringContaining("2 commands match; nothing was changed"),
  });
  expect(await tallyman(t.url, "tsq", "retry", "--all", "--dry-run")).toMatchObject({
    code: 0,
    out: expect.stringContaining("2 commands match"),
  });
  const [first] = await json(t.url, "tsq", "list", "--limit", "1");
  await json(
    t.url,
    "tsq",
    "complete",
    first.commandId,
    "--domain",
    "orders",
    "--result",
    '"by hand"',
    "--operator",
    "mia",
  );
  expect(
    await json(t.url, "tsq", "cancel", "--all", "--domain", "orders", "--yes", "--operator", "mia"),
  ).toEqual({
    matched: 1,
    changed: 1,
  });

  const watched = await tallyman(t.url, "batch", "watch", batchId);
  expect(watched).toMatchObject({ code: 4, out: expect.stringContaining("COMPLETED_WITH_FAILURES") });
  expect(watched.err).toContain("100%  4/4, 0 failed, 1 canceled");
  expect(await tallyman(t.url, "batch", "cancel", batchId)).toMatchObject({
    code: 1,
    err: expect.stringContaining("it is COMPLETED_WITH_FAILURES. [INVALID_STATE]"),
  });
  const unknown = await tallyman(t.url, "batch", "status", "00000000-0000-4000-8000-000000000000");
  expect(unknown).toMatchObject({ code: 3, err: expect.stringContaining("[BATCH_NOT_FOUND]") });
  expect(await json(t.url, "doctor")).toMatchObject({ healthy: true });
}, 120_000);
