import { type BatchInfo, BatchInfoSchema } from "../../contracts/index.ts";
import { sleep } from "../../runtime/index.ts";
import type { BatchStorage } from "../../storage/index.ts";
import type { Topics, TopicWriter } from "../../topics/index.ts";

const lostAnnouncement = 7;
const lateFile = 15;
const delayMs = 700;

/**
 * The storage and the topic that the demo's writers get: the same as everybody's, but one announcement is
 * lost and one file is late.
 */
export class FaultyProducer {
  readonly storage: Pick<BatchStorage, "writeBatch">;
  readonly topic: TopicWriter<BatchInfo>;

  private constructor(storage: BatchStorage, topic: TopicWriter<BatchInfo>) {
    this.storage = lateOnce(storage);
    this.topic = losingOnce(topic);
  }

  static async open(topics: Topics, storage: BatchStorage): Promise<FaultyProducer> {
    return new FaultyProducer(storage, await topics.writer(BatchInfoSchema, { topic: "demo-batches" }));
  }
}

/** A storage that takes its time over one file. */
function lateOnce(storage: BatchStorage): Pick<BatchStorage, "writeBatch"> {
  let files = 0;
  const writeBatch = async (...args: Parameters<BatchStorage["writeBatch"]>) => {
    if (++files === lateFile) await sleep(delayMs);
    return storage.writeBatch(...args);
  };
  return { writeBatch: writeBatch as BatchStorage["writeBatch"] };
}

/** A topic that says yes to one message and stores nothing of it. */
function losingOnce(topic: TopicWriter<BatchInfo>): TopicWriter<BatchInfo> {
  let messages = 0;
  const isLost = () => ++messages === lostAnnouncement;
  return new Proxy(topic, {
    get(target, name) {
      if (name === "send")
        return async (...args: Parameters<TopicWriter<BatchInfo>["send"]>) =>
          isLost() ? "sent" : target.send(...args);
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
