import { create } from "@bufbuild/protobuf";
import type { BoundResources, ServiceTypes } from "../../src/app/index.ts";
import { port, topicPort } from "../../src/app/index.ts";
import { BatchInfoSchema } from "../../src/contracts/index.ts";
import { Service, sleep } from "../../src/runtime/index.ts";

const ports = { out: topicPort("topic-write", BatchInfoSchema), storage: port("storage-write") };

interface Options {
  readonly fails?: boolean;
  readonly hangs?: boolean;
}

/** A service for `tallyman up`: what it has not sent when it is stopped, it sends in its final flush. */
class Holder extends Service {
  readonly #resources: BoundResources<typeof ports>;
  readonly #options: Options;

  constructor(name: string, resources: BoundResources<typeof ports>, options: Options) {
    super(name);
    this.#resources = resources;
    this.#options = options;
  }

  protected override async runOnce(signal: AbortSignal): Promise<void> {
    if (this.#options.fails) throw new Error("the sink is full");
    await sleep(20, signal);
  }

  protected override async onStop(): Promise<void> {
    if (this.#options.hangs) await new Promise(() => undefined);
    await this.#resources.out.send(create(BatchInfoSchema, { storageKey: this.name }));
  }
}

/** Called by `tallyman up --types`. */
export function register({ services }: ServiceTypes): void {
  services.registerServiceType("Holder", {
    ports,
    create: ({ name, resources, options }) => new Holder(name, resources, options),
  });
}
