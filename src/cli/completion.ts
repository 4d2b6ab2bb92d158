import { Argument, Command } from "commander";
import { completionScript, type Shell, shells } from "./completion-script.ts";

const examples = `
Examples:
  $ source <(tallyman completion bash)                                  in ~/.bashrc
  $ source <(tallyman completion zsh)                                   in ~/.zshrc, after compinit
  $ tallyman completion fish > ~/.config/fish/completions/tallyman.fish`;

/** `tallyman completion`: teaches a shell the commands and flags. */
export function completionCommand(program: Command): Command {
  return new Command("completion")
    .description("print a script that makes a shell complete commands and flags")
    .addArgument(new Argument("<shell>", "the shell it is for").choices(shells))
    .addHelpText("after", examples)
    .action((shell: Shell) => {
      process.stdout.write(completionScript(program, shell));
    });
}
