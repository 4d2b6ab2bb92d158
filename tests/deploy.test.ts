import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { validate } from "dockerfile-utils";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { setup, startChild, type TestContext } from "../src/testing/index.ts";
import { problemOf, wordsOf } from "./kit/command-lines.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const deploy = join(root, "deploy");
const read = (...path: string[]) => readFile(join(deploy, ...path), "utf8");

interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly healthcheck?: { readonly disable?: boolean };
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

async function readCompose(): Promise<Compose> {
  return parse(await read("compose.yaml"), { merge: true });
}

/** A Dockerfile's instructions of one kind, each on one line. */
async function instructions(kind: string): Promise<string[]> {
  const lines = (await read("Dockerfile")).replaceAll(/\\\n\s*/g, "").split("\n");
  return lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1));
}

describe("deploy/Dockerfile", () => {
  it("has no fault that a linter finds", async () => {
    expect(validate(await read("Dockerfile"))).toEqual([]);
  });

  it("copies what is there, and what is not ignored", async () => {
    const copied = (await instructions("COPY"))
      .filter((line) => !line.startsWith("--from"))
      .flatMap((line) => line.split(" ").slice(0, -1));
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const ignored = (await read("Dockerfile.dockerignore")).split("\n");
    expect(copied.filter((path) => !ignored.includes(`!${path}`))).toEqual([]);
  });

  it("runs the program that the package has, as nobody special", async () => {
    const { bin } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const [links = ""] = (await instructions("RUN")).filter((line) => line.includes("ln -s"));
    expect(links).toContain(
      `/srv/node_modules/tallyman/${bin.tallyman.replace("./", "")} /usr/local/bin/tallyman`,
    );
    expect(await instructions("USER")).toEqual(["node"]);
    expect(await problemOf(JSON.parse((await instructions("CMD"))[0] ?? "[]"))).toBeUndefined();
  });
});

describe("deploy/compose.yaml", () => {
  it("has command lines that tallyman takes", async () => {
    const { services } = await readCompose();
    const ours = Object.values(services).filter(({ image }) => image === "tallyman");
    const problems = await Promise.all(ours.map(({ command = ["up"] }) => problemOf(command)));
    expect(problems.filter(Boolean)).toEqual([]);
    expect(ours).toHaveLength(5);
  });

  it("mounts, and depends on, what is there", async () => {
    const { services, volumes } = await readCompose();
    for (const { volumes: mounts = [], depends_on: needed = {} } of Object.values(services)) {
      for (const [source = ""] of mounts.map((mount) => mount.split(":")))
        expect(source.startsWith(".") ? existsSync(join(deploy, source)) : source in volumes, source).toBe(
          true,
        );
      expect(Object.keys(needed).filter((name) => !(name in services))).toEqual([]);
    }
  });

  it("checks the health of exactly those that serve", async () => {
    const { services } = await readCompose();
    const serving = Object.entries(services).filter(([, { healthcheck }]) => healthcheck?.disable !== true);
    expect(serving.map(([name]) => name)).toEqual(["postgres", "coordinator", "dashboard"]);
  });

  it("runs handlers that load", async () => {
    const { worker } = (await readCompose()).services;
    const file = worker?.command?.[worker.command.indexOf("--handlers") + 1] ?? "";
    expect(await import(join(deploy, file))).toMatchObject({
      domain: "orders",
      handlers: { Ship: expect.any(Function) },
    });
  });
});

/** The units where systemd would look for them, with a program that is there. */
async function installUnits(t: TestContext): Promise<{ folder: string; units: string[] }> {
  const folder = await t.temporaryFolder();
  await cp(join(deploy, "systemd"), folder, { recursive: true });
  const units = (await readdir(folder)).filter((name) => name.endsWith(".service"));
  for (const unit of units) {
    const text = await readFile(join(folder, unit), "utf8");
    await writeFile(join(folder, unit), text.replaceAll(/^ExecStart=\S+/gm, `ExecStart=${process.execPath}`));
  }
  return { folder, units: units.map((unit) => unit.replace("@.", "@orders.")) };
}

describe("deploy/systemd", () => {
  it("has command lines that tallyman takes", async () => {
    const files = (await readdir(join(deploy, "systemd"))).filter((name) => name.endsWith(".service"));
    for (const file of files) {
      const [, line = ""] = /^ExecStart=\S+\/tallyman (.+)$/m.exec(await read("systemd", file)) ?? [];
      expect(await problemOf(wordsOf(line)), file).toBeUndefined();
    }
    expect(files).toHaveLength(4);
  });

  it.skipIf(!existsSync("/usr/bin/systemd-analyze"))(
    "has units that systemd takes, and that are hardened (needs systemd-analyze)",
    async () => {
      await using t = await setup();
      const { folder, units } = await installUnits(t);
      const env = { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` };
      const analyze = (...args: string[]) => run("systemd-analyze", args, { cwd: folder, env });
      for (const unit of units) {
        expect(await analyze("verify", "--man=no", `./${unit}`)).toEqual({ stdout: "", stderr: "" });
        // Fails above an exposure of 2.0 of 10; a unit without the common part has 9.
        await analyze("security", "--offline=true", "--threshold=20", "--no-pager", `./${unit}`);
      }
    },
  );
});

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
}

/** Every expression that is asked of Prometheus. */
async function expressions(): Promise<string[]> {
  const { groups } = parse(await read("prometheus", "alerts.yml")) as Rules;
  const { panels } = JSON.parse(await read("grafana", "tallyman.json")) as {
    panels: { targets: { expr: string }[] }[];
  };
  const alerts = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
  return [...alerts, ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))];
}

const pipeline = `
resources:
  ticks: { className: FileSystemStorage }
  batch-topic: { className: PostgresTopic }
services:
  dummy-indexer:
    className: DummyIndexer
    resources: { storage: storage-read:ticks, topic: topic-read:batch-topic?consumerGroup=dummy-indexer }
`;

describe("deploy/prometheus and deploy/grafana", () => {
  it("ask for metrics that a running process has", async () => {
    await using t = await setup();
    const config = join(await t.temporaryFolder(), "pipeline.yaml");
    await writeFile(config, pipeline);
    const args = ["up", "--config", config, "--port", "0", "--json"];
    const child = t.use(
      startChild(new URL("../src/cli/main.ts", import.meta.url), { args, env: { DATABASE_URL: t.url } }),
    );
    const { url } = JSON.parse(await child.line('{"event":"listening"'));
    await child.line('{"event":"state","name":"dummy-indexer"');
    const asked = (await expressions()).flatMap((expr) => expr.match(/\btallyman_\w+/g) ?? []);
    expect(asked.length).toBeGreaterThan(30);
    // Some are there only when they have been counted for the first time.
    const unknown = async () => {
      const text = await (await fetch(`${url}/metrics`)).text();
      const known = Array.from(text.matchAll(/^(tallyman_\w+)\{/gm), ([, name]) => name);
      return asked.filter((name) => !known.includes(name));
    };
    await expect.poll(unknown, { timeout: 30_000 }).toEqual([]);
  });

  it("advise command lines that tallyman takes", async () => {
    const advice = [...(await read("prometheus", "alerts.yml")).matchAll(/'tallyman ([^']+)'/g)];
    const problems = await Promise.all(advice.map(([, line = ""]) => problemOf(wordsOf(line), true)));
    expect(problems.filter(Boolean)).toEqual([]);
    expect(advice.length).toBeGreaterThan(10);
  });

  describe.skipIf(!existsSync("/usr/bin/promtool"))("by promtool (needs Debian's prometheus)", () => {
    const promtool = (...args: string[]) =>
      run("/usr/bin/promtool", args, { cwd: join(deploy, "prometheus") });

    it("have alerts that fire when they should, and only then", async () => {
      await promtool("check", "rules", "alerts.yml");
      expect((await promtool("test", "rules", "alerts.test.yml")).stdout).toContain("SUCCESS");
    });

    it("have a configuration that Prometheus takes", async () => {
      await promtool("check", "config", "--syntax-only", "prometheus.yml");
    });

    it("ask in expressions that Prometheus takes", async () => {
      await using t = await setup();
      const file = join(await t.temporaryFolder(), "rules.json");
      const rules = (await expressions()).map((expr, index) => ({ record: `asked:${index}`, expr }));
      await writeFile(file, JSON.stringify({ groups: [{ name: "asked", rules }] }));
      await promtool("check", "rules", file);
    });
  });
});
