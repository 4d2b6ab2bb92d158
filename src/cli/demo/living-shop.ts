import type { Tallyman } from "../../app/index.ts";
import { PermanentError, type Worker } from "../../commands/index.ts";
import { sleep } from "../../runtime/index.ts";

const batchSize = 600;
const batchEveryMs = 15_000;
const handlerMs = 120;
const concurrency = 8;
/** More than so many failures are repaired by themselves, so that a demo left alone stays readable. */
const unrepairedMax = 60;

/** What a shop does all day, by domain. */
const trades = [
  { domain: "shipping", commandType: "ShipOrder", batch: "Shipment", complaint: "gateway refuses order" },
  { domain: "billing", commandType: "SendInvoice", batch: "Invoices", complaint: "no address for invoice" },
] as const;

type Trade = (typeof trades)[number];

/** A shop that never closes: batches come in, a few commands fail until somebody retries them. */
export class LivingShop implements AsyncDisposable {
  readonly #tallyman: Tallyman;
  readonly #workers: Worker[];
  readonly #closing = new AbortController();
  readonly #failed = new Set<string>();
  #orders: Promise<void> = Promise.resolve();

  constructor(tallyman: Tallyman) {
    this.#tallyman = tallyman;
    this.#workers = trades.map((trade) =>
      tallyman.commands.worker({
        domain: trade.domain,
        concurrency,
        handlers: {
          [trade.commandType]: ({ commandId, data }) =>
            this.#handle(trade, commandId, data as { item: number }),
        },
      }),
    );
  }

  async start(): Promise<void> {
    for (const worker of this.#workers) await worker.start();
    this.#orders = this.#takeOrders();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#orders;
    for (const worker of this.#workers) await worker.stop();
  }

  async #handle({ complaint }: Trade, commandId: string, { item }: { item: number }): Promise<void> {
    await sleep(handlerMs * (0.5 + Math.random()));
    if (item % 70 !== 69 || this.#failed.has(commandId)) return;
    this.#failed.add(commandId);
    throw new PermanentError(`${complaint} ${item}`);
  }

  async #takeOrders(): Promise<void> {
    for (let number = 1; !this.#closing.signal.aborted; number++) {
      const trade = trades[number % trades.length] ?? trades[0];
      const { domain, commandType, batch } = trade;
      const commands = Array.from({ length: batchSize }, (_, item) => ({ commandType, data: { item } }));
      await this.#tallyman.commands.createBatch(domain, commands, { name: `${batch} ${number}` });
      await this.#repairOld(domain);
      await sleep(batchEveryMs, this.#closing.signal).catch(() => undefined);
    }
  }

  async #repairOld(domain: string): Promise<void> {
    const { tsq } = this.#tallyman.commands;
    if ((await tsq.count({ domain })) <= unrepairedMax) return;
    await tsq.retry({ matching: { domain } }, { operator: "demo", reason: "nobody else did" });
  }
}
