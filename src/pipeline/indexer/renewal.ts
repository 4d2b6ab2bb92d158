import type { BatchInfo } from "../../contracts/index.ts";
import type { BatchCoordinatorReady } from "../../coordination/index.ts";
import { isAbort, logger, sleep } from "../../runtime/index.ts";
import { StaleMessageError, type TopicReader } from "../../topics/index.ts";
import type { Admission } from "./admission.ts";

const log = logger("pipeline.renewal");
/** Renewals per lease: one may fail. */
const renewalsPerLease = 3;
const renewalMsMax = 30_000;

/** What is renewed. */
export interface RenewalResources {
  readonly admission: Admission;
  readonly coordinator: BatchCoordinatorReady | undefined;
  readonly topic: TopicReader<BatchInfo> | undefined;
  /** Told of a file whose claim is lost. */
  onLost(filename: string): Promise<void>;
}

/** Keeps claims and messages alive while their ticks wait in the buffer. */
export class Renewal {
  readonly #resources: RenewalResources;
  readonly #controller = new AbortController();
  readonly #loop: Promise<void>;

  constructor(resources: RenewalResources) {
    this.#resources = resources;
    this.#loop = this.#run(this.#controller.signal);
  }

  async stop(): Promise<void> {
    this.#controller.abort();
    await this.#loop;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await sleep(this.#intervalMs(), signal);
        await this.renew();
      } catch (error) {
        if (!isAbort(error)) log.debug("Leases not renewed, trying again", { reason: String(error) });
      }
    }
  }

  /** One renewal of everything held. */
  async renew(): Promise<void> {
    const { coordinator, onLost } = this.#resources;
    for (const filename of (await coordinator?.renewClaims()) ?? []) await onLost(filename);
    await this.#extendMessages();
  }

  async #extendMessages(): Promise<void> {
    const { admission, topic } = this.#resources;
    const files = [...admission.files.values()];
    const messages = files.flatMap(({ message }) => (message ? [message] : []));
    await topic?.extend(messages).catch((error: unknown) => {
      if (!(error instanceof StaleMessageError)) throw error;
      const stale = new Set<unknown>(error.messages);
      // The ledger decides, not the topic: whoever has the message now will find the file claimed or done.
      for (const file of files) if (stale.has(file.message)) file.message = undefined;
    });
  }

  #intervalMs(): number {
    const { coordinator, topic } = this.#resources;
    const leases = [coordinator?.leaseMs, topic?.claimTimeoutMs].filter((ms) => ms !== undefined && ms > 0);
    return Math.min(renewalMsMax, ...leases.map((ms) => (ms ?? 0) / renewalsPerLease));
  }
}
