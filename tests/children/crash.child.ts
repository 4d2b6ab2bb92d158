/** Prints five turns, with a crash point after each. */
import { writeSync } from "node:fs";
import { crashPoint } from "../../src/runtime/index.ts";

for (let turn = 1; turn <= 5; turn++) {
  writeSync(1, `turn ${turn}\n`);
  crashPoint("loop.turn");
}
