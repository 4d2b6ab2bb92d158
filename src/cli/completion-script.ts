import type { Command } from "commander";

/** Shells that a completion can be made for. */
export const shells = ["bash", "zsh", "fish"] as const;

/** One of {@link shells}. */
export type Shell = (typeof shells)[number];

/** What may follow on the command line, and what it means. */
interface Word {
  readonly text: string;
  readonly meaning: string;
}

/** A command's place in the tree: `batch create`; the program itself is the empty string. */
type Words = ReadonlyMap<string, readonly Word[]>;

const scripts: Readonly<Record<Shell, (words: Words) => string>> = {
  bash: bashScript,
  zsh: (words) => `autoload -U +X bashcompinit && bashcompinit\n${bashScript(words)}`,
  fish: fishScript,
};

/** The script that teaches a shell every command and flag of the program. */
export function completionScript(program: Command, shell: Shell): string {
  const general = optionsOf(program);
  const words = new Map<string, readonly Word[]>();
  const visit = (command: Command, place: readonly string[]) => {
    const children = command.commands.map((child) => ({ text: child.name(), meaning: child.description() }));
    const own = place.length === 0 ? [] : optionsOf(command);
    words.set(place.join(" "), [...children, ...own, ...general, helpWord]);
    for (const child of command.commands) visit(child, [...place, child.name()]);
  };
  visit(program, []);
  return scripts[shell](words);
}

const helpWord: Word = { text: "--help", meaning: "display help" };

function optionsOf(command: Command): Word[] {
  return command.options.flatMap(({ long, description }) =>
    long ? [{ text: long, meaning: description }] : [],
  );
}

/** Zsh reads it too. Where no word fits, `-o default` completes file names. */
function bashScript(words: Words): string {
  const cases = Array.from(
    words,
    ([place, each]) => `    '${place}') echo '${each.map(({ text }) => text).join(" ")}' ;;`,
  );
  return `_tallyman_words() {
  case "$1" in
${cases.join("\n")}
  esac
}
_tallyman() {
  local place="" word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${place:+$place }\${COMP_WORDS[i]}"
    [ -n "$(_tallyman_words "$word")" ] && place="$word"
  done
  COMPREPLY=($(compgen -W "$(_tallyman_words "$place")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _tallyman tallyman
`;
}

function fishScript(words: Words): string {
  const cases = Array.from(words, ([place, each]) => {
    const lines = each.map(({ text, meaning }) => `            echo ${text}\\t${quoteForFish(meaning)}`);
    return [`        case '${place}'`, ...lines].join("\n");
  });
  return `function __tallyman_words
    switch "$argv"
${cases.join("\n")}
    end
end
function __tallyman
    set -l place
    for word in (commandline -opc)[2..-1]
        test -n "$(__tallyman_words $place $word)"; and set place $place $word
    end
    __tallyman_words $place
end
complete -c tallyman -a '(__tallyman)'
`;
}

function quoteForFish(text: string): string {
  return `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
}
