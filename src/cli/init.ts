import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Command } from "commander";
import { configFileName, starterConfig } from "../app/index.ts";
import { TallymanError } from "../errors/index.ts";
import { type GlobalOptions, printResult } from "./output.ts";

/** `tallyman init`: writes a commented configuration to start from. */
export function initCommand(): Command {
  return new Command("init")
    .description(`write a commented ${configFileName} to start from; never overwrites one`)
    .argument("[file]", "where to write it", configFileName)
    .addHelpText("after", "\nExample:\n  $ tallyman init pipeline.yaml")
    .action(async (file: string, _options: GlobalOptions, command: Command) => {
      const path = resolve(file);
      await writeFile(path, starterConfig(), { flag: "wx" }).catch((cause: NodeJS.ErrnoException) => {
        const isThere = cause.code === "EEXIST" || cause.code === "EISDIR";
        const remedy = isThere
          ? "it exists already. Choose another name"
          : `${cause.message}. Choose a folder that you can write`;
        throw new TallymanError("USAGE", `${path} was not written: ${remedy}.`, { cause });
      });
      printResult(
        command.optsWithGlobals(),
        { file: path },
        `Wrote ${path}. Next: tallyman migrate, then tallyman doctor.`,
      );
    });
}
