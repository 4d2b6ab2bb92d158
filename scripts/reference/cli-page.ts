import type { Argument, Command, Option } from "commander";
import { createProgram } from "../../src/cli/program.ts";
import { block, code, page, table } from "./markdown.ts";

/** Every command with its arguments, options, defaults and examples, from the command tree itself. */
export function cliPage(): string {
  const program = createProgram();
  return page(
    "Command line",
    "the command tree in `src/cli`",
    "`tallyman <command> --help` says the same in a terminal. With `--json` data go to stdout and logs to stderr. [Exit codes](../errors.md#exit-codes-of-the-cli).",
    ...contents(program),
    "## tallyman",
    sentence(program.description()),
    "These options go with every command.",
    optionTable(program.options),
    helpAfter(program),
    ...program.commands.flatMap((command) => section(command, "tallyman")),
  );
}

function contents(program: Command): string[] {
  const rows = program.commands.map((command) => [
    `[${command.name()}](#tallyman-${command.name()})`,
    sentence(command.description()),
  ]);
  return [table(["command", "what it does"], rows)];
}

function section(command: Command, parent: string): string[] {
  const name = `${parent} ${command.name()}`;
  const level = "#".repeat(name.split(" ").length);
  return [
    `${level} ${name}`,
    sentence(command.description()),
    block("bash", usage(command, name)),
    argumentTable(command.registeredArguments),
    optionTable(command.options),
    helpAfter(command),
    ...command.commands.flatMap((child) => section(child, name)),
  ];
}

function usage(command: Command, name: string): string {
  const words = command.registeredArguments.map((argument) => {
    const text = `${argument.name()}${argument.variadic ? "..." : ""}`;
    return argument.required ? `<${text}>` : `[${text}]`;
  });
  const subcommand = command.commands.length > 0 ? ["<command>"] : [];
  const options = command.options.length > 0 ? ["[options]"] : [];
  return [name, ...words, ...subcommand, ...options].join(" ");
}

function argumentTable(args: readonly Argument[]): string {
  const rows = args
    .filter(({ description }) => description !== "")
    .map((each) => [code(each.name()), sentence(each.description), code(each.defaultValue)]);
  return rows.length === 0 ? "" : table(["argument", "meaning", "default"], rows);
}

function optionTable(options: readonly Option[]): string {
  const shown = options.filter(({ hidden }) => !hidden);
  const rows = shown.map((option) => [code(option.flags), meaning(option), defaultOf(option)]);
  return rows.length === 0 ? "" : table(["option", "meaning", "default"], rows);
}

function meaning({ description, mandatory, argChoices }: Option): string {
  const choices = argChoices ? `one of ${argChoices.join(", ")}: ` : "";
  const [text] = splitDefault(description);
  return `${sentence(choices + text)}${mandatory ? " **Required.**" : ""}`;
}

function defaultOf({ description, defaultValue, negate }: Option): string {
  if (defaultValue !== undefined && !negate) return code(defaultValue);
  return splitDefault(description)[1];
}

/** Some defaults depend on others, and are told at the end of the description. */
function splitDefault(description: string): [meaning: string, defaultText: string] {
  const [, text = description, told = ""] = /^(.*?)\s*\(default: (.*)\)$/.exec(description) ?? [];
  return [text, told];
}

/** What stands behind the options in the help: notes and examples. */
function helpAfter(command: Command): string {
  let written = "";
  command.configureOutput({ writeOut: (text) => (written += text) });
  command.outputHelp();
  const text = written.slice(command.helpInformation().length).trim();
  const isLeaf = command.commands.length === 0;
  if (isLeaf && !text.includes("Example")) throw new Error(`'${command.name()}' has no example in its help`);
  return text === "" ? "" : block("text", text);
}

function sentence(text: string): string {
  return text === "" ? "" : `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
}
