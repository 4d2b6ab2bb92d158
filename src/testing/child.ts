import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { withTimeout } from "../runtime/index.ts";

/** A machine under load takes its time to start a process. */
const lineTimeoutMs = 120_000;

/** How a child process is started. */
export interface ChildOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Folder to run in. Default: that of this process. */
  readonly cwd?: string;
  /** A crash point at which the child ends itself with SIGKILL: `name`, or `name:3` for the third pass. */
  readonly crashAt?: string;
}

/** How a child ended. */
export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * A real process running one of our scripts. It says what it did in lines on its standard output, and
 * tests wait for these lines instead of sleeping.
 *
 * @example
 * ```ts
 * await using child = startChild(new URL("./worker.child.ts", import.meta.url), { crashAt: "flush.after-copy" });
 * await child.line("ready");
 * expect(await child.exit).toEqual({ code: null, signal: "SIGKILL" });
 * ```
 */
export class Child implements AsyncDisposable {
  readonly exit: Promise<ChildExit>;
  readonly #process: ChildProcess;
  readonly #lines: string[] = [];
  readonly #waiting = new Set<() => void>();
  #errorOutput = "";

  constructor(process: ChildProcess) {
    this.#process = process;
    this.exit = once(process, "close").then(([code, signal]) => ({ code, signal }));
    if (process.stdout) createInterface(process.stdout).on("line", (line) => this.#received(line));
    process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errorOutput += text;
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  get errorOutput(): string {
    return this.#errorOutput;
  }

  /** Waits for a line that begins with `start`, past or future; fails when the child ends without it. */
  async line(start: string): Promise<string> {
    const find = () => this.#lines.find((line) => line.startsWith(start));
    await this.until(() => find() !== undefined, `the line '${start}'`);
    return find() ?? "";
  }

  /** Waits until its lines show something; looks again at each line, and fails when the child ends without it. */
  until(isThere: () => boolean, what: string): Promise<void> {
    return withTimeout(this.#until(isThere, what), lineTimeoutMs, `The child's way to ${what}`);
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGCONT");
    this.#process.kill("SIGKILL");
    await this.exit;
  }

  async #until(isThere: () => boolean, what: string): Promise<void> {
    let ended = false;
    void this.exit.then(() => {
      ended = true;
      this.#wake();
    });
    for (;;) {
      if (isThere()) return;
      if (ended)
        throw new Error(
          `The child ended without ${what}. It printed: ${this.#lines.join(" | ")} ${this.#errorOutput}`,
        );
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #received(line: string): void {
    this.#lines.push(line);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** Starts a script as a process of its own; TypeScript needs `tsx` among the project's packages. */
export function startChild(script: URL, options: ChildOptions = {}): Child {
  const { args = [], env = {}, cwd, crashAt } = options;
  return new Child(
    spawn(process.execPath, [...typeScriptLoader(script), fileURLToPath(script), ...args], {
      cwd,
      env: { ...process.env, ...env, ...(crashAt !== undefined && { TALLYMAN_CRASH_AT: crashAt }) },
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
}

function typeScriptLoader(script: URL): string[] {
  return /\.[cm]?ts$/.test(script.pathname) ? ["--import", import.meta.resolve("tsx")] : [];
}
