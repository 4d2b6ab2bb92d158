import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { SharedReads } from "./shared-reads.ts";

/** A read that ends when it is told to. */
function heldReads() {
  const ends: ((outcome: number | Error) => void)[] = [];
  const read = () =>
    new Promise<number>((resolve, reject) => {
      ends.push((outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome)));
    });
  return { ends, read };
}

it("does one read for all who came while another ran, and none of them gets the older answer", async () => {
  const reads = new SharedReads();
  const { ends, read } = heldReads();
  const first = reads.share("a", read);
  const later = [reads.share("a", read), reads.share("a", read), reads.share("a", read)];
  expect(ends).toHaveLength(1);
  ends[0]?.(1);
  expect(await first).toBe(1);
  await turn();
  expect(ends).toHaveLength(2);
  const last = reads.share("a", read);
  ends[1]?.(2);
  expect(await Promise.all(later)).toEqual([2, 2, 2]);
  await turn();
  ends[2]?.(3);
  expect(await last).toBe(3);
});

it("keeps different reads apart, and remembers no answer", async () => {
  const reads = new SharedReads();
  expect(await Promise.all([reads.share("a", async () => 1), reads.share("b", async () => 2)])).toEqual([
    1, 2,
  ]);
  expect(await reads.share("a", async () => 3)).toBe(3);
});

it("does the next read also after one that failed", async () => {
  const reads = new SharedReads();
  const { ends, read } = heldReads();
  const first = reads.share("a", read);
  const second = reads.share("a", read);
  ends[0]?.(new Error("away"));
  await expect(first).rejects.toThrow("away");
  await turn();
  ends[1]?.(2);
  expect(await second).toBe(2);
});
