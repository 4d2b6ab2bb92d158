import { BinaryReader, type WireType } from "@bufbuild/protobuf/wire";

const varintBytesMax = 10;
const tagBytesMax = 5;
const lengthDelimited = 2;

/**
 * Takes protobuf's wire format apart without making an object for anything: the last varint is in
 * `low` and `high`, 32 bits each. It never reads beyond `end`, which a caller narrows to the message
 * it is in.
 */
export class WireReader {
  #bytes: Uint8Array = new Uint8Array(0);
  /** The byte that comes next. */
  at = 0;
  /** Where the present message ends. */
  end = 0;
  low = 0;
  high = 0;

  /** Begins with other bytes. */
  open(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.at = 0;
    this.end = bytes.length;
  }

  /** Reads a varint into `low` and `high`, and returns `low`. */
  varint(): number {
    const byte = this.#bytes[this.at] as number;
    if (byte < 0x80 && this.at < this.end) {
      this.at += 1;
      this.high = 0;
      this.low = byte;
      return byte;
    }
    return this.#longVarint();
  }

  /** Reads a field's number and wire type. */
  tag(): number {
    const start = this.at;
    const tag = this.varint();
    if (this.high !== 0 || this.at - start > tagBytesMax) throw new RangeError(`no field at byte ${start}`);
    return tag;
  }

  /** Reads a length and returns where that many bytes end. */
  lengthEnd(): number {
    const end = this.varint() >>> 0;
    if (this.high !== 0 || this.at + end > this.end) throw new RangeError(`premature end at byte ${this.at}`);
    return this.at + end;
  }

  /** Leaves out a field that is not known. */
  skip(tag: number): void {
    if ((tag & 7) === lengthDelimited) {
      this.at = this.lengthEnd();
      return;
    }
    const reader = new BinaryReader(this.#bytes.subarray(0, this.end));
    reader.pos = this.at;
    reader.skip((tag & 7) as WireType, tag >>> 3);
    this.at = reader.pos;
  }

  #longVarint(): number {
    let [low, high] = [0, 0];
    for (let index = 0; index < varintBytesMax; index++) {
      if (this.at >= this.end) throw new RangeError(`premature end at byte ${this.at}`);
      const byte = this.#bytes[this.at++] as number;
      const bits = byte & 0x7f;
      if (index < 5) low |= bits << (7 * index);
      if (index === 4) high = bits >>> 4;
      else if (index > 4) high |= bits << (7 * index - 32);
      if (byte < 0x80) {
        this.low = low;
        this.high = high;
        return low;
      }
    }
    throw new RangeError(`a number of more than ${varintBytesMax} bytes at byte ${this.at}`);
  }
}
