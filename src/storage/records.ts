import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { type TickData, TickDataSchema } from "../contracts/index.ts";
import { TallymanError } from "../errors/index.ts";
import { throwIfAborted } from "../runtime/index.ts";
import type { Records } from "./encode-file.ts";

/** The run and ticks that a batch claims to hold. */
export interface BatchRange {
  readonly runId: string;
  readonly tickStart: number;
  readonly tickEnd: number;
}

/**
 * Messages to records, one by one; ticks of another run or range end the batch. Messages that the caller has
 * encoded itself pass as they are.
 */
export async function* encodedRecords<S extends DescMessage>(
  messages: Records<MessageShape<S> | Uint8Array>,
  schema: S,
  range: BatchRange,
): AsyncGenerator<Uint8Array> {
  const isTickData = schema.typeName === TickDataSchema.typeName;
  for await (const message of messages) {
    if (message instanceof Uint8Array) {
      yield message;
      continue;
    }
    if (isTickData) refuseForeignTick(message as unknown as TickData, range);
    yield toBinary(schema, message);
  }
}

/** The same records, ending with ABORTED once the signal is aborted. */
export async function* abortable(
  records: Records<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  throwIfAborted(signal);
  for await (const record of records) {
    yield record;
    throwIfAborted(signal);
  }
}

function refuseForeignTick(tick: TickData, { runId, tickStart, tickEnd }: BatchRange): void {
  const number = Number(tick.tickNumber);
  const ofRun = tick.simulationRunId === "" || tick.simulationRunId === runId;
  if (ofRun && number >= tickStart && number <= tickEnd) return;
  throw new TallymanError(
    "BATCH_INVALID",
    `Tick ${number} of run '${tick.simulationRunId}' does not belong in a batch of ticks ${tickStart} to ${tickEnd} of run '${runId}'.`,
    { details: { tick: number, tickRunId: tick.simulationRunId, runId, tickStart, tickEnd } },
  );
}
