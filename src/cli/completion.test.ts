import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { completionScript, type Shell } from "./completion-script.ts";
import { createProgram } from "./program.ts";

/** Command lines that prove a script: what is offered for the last word of each. */
const cases: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ["tallyman coo", ["coordinator"]],
  ["tallyman batch c", ["cancel", "create"]],
  ["tallyman --json batch c", ["cancel", "create"]],
  ["tallyman batch list --dom", ["--domain"]],
  ["tallyman --verb", ["--verbose"]],
  ["tallyman batch list --verb", ["--verbose"]],
  ["tallyman up --no", ["--no-server"]],
  ["tallyman nothing-such b", ["batch"]],
];

/** How each shell is asked what it would offer. */
const questions: Readonly<Record<Exclude<Shell, "zsh">, (script: string, line: string) => string>> = {
  bash: (script, line) => {
    const words = line.split(" ");
    return `${script}\nCOMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}; _tallyman; printf '%s\\n' "\${COMPREPLY[@]}"`;
  },
  fish: (script, line) => `${script}\ncomplete -C '${line}' | string replace -r '\\t.*' ''`,
};

/** Shells also offer files, so there must be none. */
const cwd = mkdtempSync(join(tmpdir(), "tallyman-completion-"));
afterAll(() => rmSync(cwd, { recursive: true }));

function isInstalled(shell: string): boolean {
  return (process.env.PATH ?? "").split(":").some((folder) => existsSync(`${folder}/${shell}`));
}

describe.each(["bash", "fish"] as const)("tallyman completion %s", (shell) => {
  const script = completionScript(createProgram(), shell);
  it.skipIf(!isInstalled(shell)).each(cases)(`offers for '%s' (needs ${shell})`, (line, offered) => {
    const answer = execFileSync(shell, ["-c", questions[shell](script, line)], { cwd, encoding: "utf8" });
    expect(answer.trim().split("\n").toSorted()).toEqual(offered);
  });
});

describe("tallyman completion zsh", () => {
  it.skipIf(!isInstalled("zsh"))("is accepted by zsh (needs zsh)", () => {
    const script = completionScript(createProgram(), "zsh");
    const ask = `autoload -U compinit && compinit -u -D\n${script}\nprint -- $_comps[tallyman]`;
    expect(execFileSync("zsh", ["-fc", ask], { encoding: "utf8" })).toContain("_bash_complete");
  });
});
