import { Command } from "commander";
import { findConfigFile, printConfig } from "../app/index.ts";
import { openConfig } from "./open.ts";
import { type GlobalOptions, printStep } from "./output.ts";

/** `tallyman config print`: the configuration that a command would use. */
export function configCommand(): Command {
  const print = new Command("print")
    .description("print the configuration after file, environment and flags; secrets are hidden")
    .addHelpText("after", "\nExample:\n  $ TALLYMAN_SCHEMA=crew tallyman config print")
    .action(async (_options: GlobalOptions, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions>();
      const config = await openConfig(options);
      const file = await findConfigFile({ flags: { config: options.config } });
      printStep(options, file === undefined ? "# no configuration file: defaults" : `# from ${file}`);
      process.stdout.write(printConfig(config, options.json ? "json" : "yaml"));
    });
  return new Command("config").description("look at the configuration").addCommand(print);
}
