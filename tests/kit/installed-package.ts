import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);
const outputBytesMax = 16 * 1024 * 1024;

/** All that the package is made of. */
const sources = ["src", "dashboard", "sql", "docs", "README.md", "LICENSE", "CHANGELOG.md"];
const settings = ["package.json", "tsconfig.json", "tsconfig.build.json"];

/** What npm tells the scripts that it runs, and what would lead another npm back to this repository. */
const npmOwn = /^npm_(package|lifecycle|command|config_local_prefix|execpath|node_execpath)/;

/** What `npm pack` says of a package. */
interface Packed {
  readonly filename: string;
  readonly version: string;
  readonly files: readonly { readonly path: string }[];
}

/** An empty project in which the package, as it would be published, is installed. */
export class InstalledPackage implements AsyncDisposable {
  /** The project. */
  readonly folder: string;
  readonly version: string;
  /** Every file in the package. */
  readonly files: readonly string[];
  readonly #base: string;

  private constructor(base: string, { version, files }: Packed) {
    this.#base = base;
    this.folder = join(base, "project");
    this.version = version;
    this.files = files.map(({ path }) => path);
  }

  /** Builds and packs a copy of the sources, so that neither an old build nor a test beside this one is in the way. */
  static async install(): Promise<InstalledPackage> {
    const base = await mkdtemp(join(tmpdir(), "tallyman-package-"));
    try {
      const copy = join(base, "copy");
      for (const name of [...sources, ...settings])
        await cp(join(root, name), join(copy, name), { recursive: true });
      await symlink(join(root, "node_modules"), join(copy, "node_modules"));
      const [packed] = JSON.parse(
        await npm(copy, "pack", "--json", "--foreground-scripts=false", "--pack-destination", base),
      ) as [Packed];
      const installed = new InstalledPackage(base, packed);
      await mkdir(installed.folder);
      await writeFile(join(installed.folder, "package.json"), JSON.stringify({ private: true }));
      await npm(
        installed.folder,
        "install",
        "--prefer-offline",
        "--no-audit",
        "--no-fund",
        join(base, packed.filename),
      );
      return installed;
    } catch (error) {
      await rm(base, { recursive: true, force: true });
      throw error;
    }
  }

  /** Runs one of npm's commands in the project, and returns what it printed. */
  npm(...args: string[]): Promise<string> {
    return npm(this.folder, ...args);
  }

  /** Runs lines of a shell in the project, and returns what they printed; the last one must succeed. */
  async shell(lines: string): Promise<string> {
    const { stdout } = await run("sh", ["-c", lines], { cwd: this.folder, env: environment() });
    return stdout;
  }

  /** Writes a file of the project. */
  write(name: string, text: string): Promise<void> {
    return writeFile(join(this.folder, name), text);
  }

  /** Compiles files of the project with these settings, strictly; an error is the compiler's list. */
  async compile(files: readonly string[], compilerOptions: Readonly<Record<string, unknown>>): Promise<void> {
    const options = {
      strict: true,
      target: "es2022",
      lib: ["es2022", "esnext.disposable"],
      ...compilerOptions,
    };
    await this.write("tsconfig.json", JSON.stringify({ compilerOptions: options, files }));
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    await run(process.execPath, [compiler, "--project", this.folder]).catch(({ stdout }) => {
      throw new Error(stdout);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#base, { recursive: true, force: true });
  }
}

async function npm(cwd: string, ...args: string[]): Promise<string> {
  const { stdout } = await run("npm", args, { cwd, env: environment(), maxBuffer: outputBytesMax });
  return stdout;
}

function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !npmOwn.test(name));
  return { ...Object.fromEntries(own), DATABASE_URL: "" };
}
