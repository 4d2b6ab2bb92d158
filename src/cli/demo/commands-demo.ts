import type { Tallyman } from "../../app/index.ts";
import { type CommandBus, PermanentError } from "../../commands/index.ts";
import { sleep } from "../../runtime/index.ts";
import { progressBar } from "../batch-watch.ts";
import type { DemoPart } from "./demo-part.ts";

const total = 5_000;
const failingEvery = 100;
const pollMs = 20;

/** A batch of which one in a hundred fails, is repaired, and ends complete. */
export async function commandsDemo(tallyman: Tallyman, say: (text: string) => void): Promise<DemoPart> {
  const { commands } = tallyman;
  const domain = `demo-${Date.now().toString(36)}`;
  const orders = Array.from({ length: total }, (_, n) => ({
    commandType: "ShipOrder",
    data: { orderId: n },
  }));
  const batchId = await commands.createBatch(domain, orders, { name: "Evening shipment" });
  let isGatewayDown = true;
  await using worker = commands.worker({
    domain,
    concurrency: 20,
    handlers: {
      ShipOrder: ({ data }) => {
        const { orderId } = data as { orderId: number };
        if (isGatewayDown && orderId % failingEvery === 0)
          throw new PermanentError(`gateway refuses order ${orderId}`);
      },
    },
  });
  say(`Sending a batch of ${total} commands, of which one in ${failingEvery} will fail …`);
  await worker.start();
  const inTroubleshooting = await untilBlocked(commands, domain, batchId);
  const groups = await commands.tsq.groups({ domain });
  for (const { count, errorSignature } of groups) say(`Troubleshooting queue: ${count} × ${errorSignature}`);
  isGatewayDown = false;
  const retried = await commands.tsq.retry(
    { matching: { domain } },
    { operator: "demo", reason: "gateway is back" },
  );
  say(`The gateway is back: retried ${retried} commands.`);
  const batch = await commands.waitForBatch(domain, batchId);
  const { miscounts } = await commands.recount();
  say(progressBar(batch));
  const { completedCount: completed, status } = batch;
  const recountMatches = miscounts.length === 0;
  return {
    success: status === "COMPLETED" && completed === total && recountMatches,
    data: { total, completed, inTroubleshooting, status, recountMatches },
    text: `Commands: ${completed} of ${total} completed after ${retried} repairs; batch ${status}; counters ${recountMatches ? "equal a recount" : "DIFFER from a recount"}.`,
  };
}

/** Waits until nothing but repairs is missing; returns how many. */
async function untilBlocked(commands: CommandBus, domain: string, batchId: string): Promise<number> {
  for (;;) {
    const batch = await commands.getBatch(domain, batchId);
    if (batch && batch.completedCount + batch.inTroubleshootingCount === batch.totalCount) {
      return batch.inTroubleshootingCount;
    }
    await sleep(pollMs);
  }
}
