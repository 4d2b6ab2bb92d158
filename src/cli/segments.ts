import { Command } from "commander";
import { type SegmentInfo, uncoveredSegments } from "../scheduler/index.ts";
import { parseNumber } from "./command-options.ts";
import { withTallyman } from "./open.ts";
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
    .addCommand(resizeCommand())
    .action(async (_options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const [segments, workers] = await withTallyman(options, ({ scheduler }) =>
        Promise.all([scheduler.fleet.segmentMap(), scheduler.fleet.listWorkers()]),
      );
      const data = {
        segmentCount: segments.length,
        uncovered: uncoveredSegments(segments, workers),
        segments,
      };
      printResult(options, data, describe(data));
    });
}

function resizeCommand(): Command {
  return new Command("resize")
    .description("change the number of segments, 1 to 1,024; all are assigned anew at once")
    .argument("<count>", "the new number")
    .action(async (text: string, _options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const count = parseNumber("<count>", text);
      await withTallyman(options, ({ scheduler }) => scheduler.setSegmentCount(count));
      printResult(options, { segmentCount: count }, `There are ${count} segments now.`);
    });
}

function describe(data: { readonly uncovered: number; readonly segments: readonly SegmentInfo[] }): string {
  const grid = segmentGrid(data.segments);
  return data.uncovered > 0
    ? `${grid}\n${data.uncovered} segments are covered by nobody's cap: their jobs do not fire.`
    : grid;
}
