import type { DescMessage } from "@bufbuild/protobuf";
import { type Database, pipelined, type Transaction } from "../database/index.ts";
import { crashPoint } from "../runtime/index.ts";
import { publish } from "./sql/publish.ts";
import { lockGroupsShared, type TopicRow } from "./sql/topic.ts";
import type { InTransaction, SendOutcome } from "./topic.ts";
import type { TopicHints } from "./topic-hints.ts";
import { type EncodedMessages, TopicWriterBase } from "./topic-writer-base.ts";

/** Messages that one statement stores; a longer list takes several, in one transaction. */
const statementMessagesMax = 1_000;

/** Publishes in one transaction per call: the caller's, or one of its own. */
export class PostgresTopicWriter<Desc extends DescMessage> extends TopicWriterBase<Desc> {
  readonly #database: Database;
  readonly #hints: TopicHints;
  readonly #topicId: number;

  constructor(
    schema: Desc,
    topic: TopicRow,
    runId: string | undefined,
    database: Database,
    hints: TopicHints,
  ) {
    super(schema, topic.name, runId, database.metricsWindowSeconds);
    this.#database = database;
    this.#hints = hints;
    this.#topicId = topic.topicId;
  }

  protected override async store(batch: EncodedMessages, tx: InTransaction["tx"]): Promise<SendOutcome[]> {
    const stored = tx ? await this.#storeWith(this.#database.join(tx), batch) : await this.#storeAlone(batch);
    return outcomes(batch.keys, stored);
  }

  async #storeAlone(batch: EncodedMessages): Promise<(string | null)[]> {
    const stored = await this.#database.transaction((tx) => this.#insert(tx, batch));
    crashPoint("topics.after-send");
    this.#hints.notify(this.#topicId);
    return stored;
  }

  async #storeWith(tx: Transaction, batch: EncodedMessages): Promise<(string | null)[]> {
    const [stored] = await pipelined(this.#insert(tx, batch), this.#hints.notifyWith(tx, this.#topicId));
    return stored;
  }

  /** The lock is a statement of its own: see {@link lockGroupsShared}. */
  async #insert(tx: Transaction, { runId, keys, payloads }: EncodedMessages): Promise<(string | null)[]> {
    const statements = [];
    for (let from = 0; from < keys.length; from += statementMessagesMax) {
      const to = from + statementMessagesMax;
      statements.push({ keys: keys.slice(from, to), payloads: payloads.slice(from, to) });
    }
    const [, ...stored] = await pipelined<[unknown, ...(string | null)[][]]>(
      lockGroupsShared(tx, this.#topicId),
      ...statements.map((part) => publish(tx, { topicId: this.#topicId, runId, ...part })),
    );
    return stored.flat();
  }
}

/** Of several messages with one key, the first was stored, if any was. */
function outcomes(keys: readonly (string | null)[], stored: readonly (string | null)[]): SendOutcome[] {
  const left = new Set(stored);
  return keys.map((key) => (key === null || left.delete(key) ? "sent" : "duplicate"));
}
