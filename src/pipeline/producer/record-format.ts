import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";

/** How records of one kind are checked and become bytes. */
export interface RecordFormat<T> {
  /** Schema of the records; undefined for JSON. */
  readonly schema: DescMessage | undefined;
  /** Bytes of a record. Throws for one that its format can't hold. */
  encode(record: T): Uint8Array;
  /** What is wrong with a record; undefined when nothing is. */
  faultOf?(record: T): string | undefined;
}

/** Protobuf messages. */
export function protobufFormat<S extends DescMessage>(
  schema: S,
  faultOf?: (record: MessageShape<S>) => string | undefined,
): RecordFormat<MessageShape<S>> {
  return { schema, encode: (record) => toBinary(schema, record), ...(faultOf && { faultOf }) };
}

/** Any value that JSON can hold, as UTF-8 text. */
export function jsonFormat<T>(): RecordFormat<T> {
  return {
    schema: undefined,
    encode: (record) => {
      const text = JSON.stringify(record) as string | undefined;
      if (text === undefined) throw new TypeError(`${typeof record} is no JSON value`);
      return Buffer.from(text);
    },
  };
}

/** A record that can't be encoded: it alone is to blame, not its batch. */
export class RecordFault extends Error {
  override readonly name = "RecordFault";
  readonly record: unknown;

  constructor(record: unknown, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.record = record;
  }
}

/** Records to bytes, one by one as the writer asks for them. @throws RecordFault */
export function* encoded<T>(records: readonly T[], format: RecordFormat<T>): Generator<Uint8Array> {
  for (const record of records) yield encodeOrBlame(record, format);
}

/** @throws RecordFault */
function encodeOrBlame<T>(record: T, format: RecordFormat<T>): Uint8Array {
  try {
    return format.encode(record);
  } catch (error) {
    throw new RecordFault(record, error);
  }
}
