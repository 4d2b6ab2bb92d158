import { Command } from "commander";
import type { Caller } from "../client/index.ts";
import { uncoveredSegments } from "../scheduler/index.ts";
import { type AuditedOptions, audited } from "./audited.ts";
import { parseNumber } from "./command-options.ts";
import { withCaller } from "./open.ts";
import { type GlobalOptions, printResult } from "./output.ts";
import { segmentGrid } from "./segment-grid.ts";

/** `tallyman segments`: who owns which segment; `segments resize` changes their number. */
export function segmentsCommand(): Command {
  return new Command("segments")
    .description("show which worker owns which segment, or change the number of segments")
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman segments\n  $ tallyman segments --json | jq '.segments[] | select(.status == \"AVAILABLE\") | .segmentId'\n  $ tallyman segments resize 256",
    )
    .addCommand(audited(resizeCommand()))
    .action(async (_options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const data = await withCaller(options, look);
      printResult(options, data, describe(data));
    });
}

function resizeCommand(): Command {
  return new Command("resize")
    .description("change the number of segments, 1 to 1,024; all are assigned anew at once")
    .argument("<count>", "the new number")
    .addHelpText("after", "\nExample:\n  $ tallyman segments resize 256")
    .action(async (text: string, _options: AuditedOptions, command: Command) => {
      const options = command.optsWithGlobals<AuditedOptions>();
      const count = parseNumber("<count>", text);
      const resized = await withCaller(options, (caller) =>
        caller.call("POST /api/segments/resize", { body: { count } }),
      );
      printResult(options, resized, `There are ${count} segments now.`);
    });
}

async function look(caller: Caller) {
  const [map, workers] = await Promise.all([
    caller.call("GET /api/segments"),
    caller.call("GET /api/scheduler-workers"),
  ]);
  // Without a worker's id it is always the whole map.
  const segments = "segmentCount" in map ? map.segments : [];
  const segmentCount = segments.length;
  return { segmentCount, uncovered: uncoveredSegments(segmentCount, workers), segments };
}

function describe(data: Awaited<ReturnType<typeof look>>): string {
  const grid = segmentGrid(data.segments);
  return data.uncovered > 0
    ? `${grid}\n${data.uncovered} segments are covered by nobody's cap: their jobs do not fire.`
    : grid;
}
