import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { builtInResources, builtInServices, wiringProblems } from "../services/index.ts";
import { configFileName, findConfigFile, loadConfig } from "./load-config.ts";
import { starterConfig } from "./starter-config.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "tallyman-config-"));
});

afterEach(() => rm(directory, { recursive: true }));

describe("loadConfig", () => {
  it("serves the defaults when there is no file", async () => {
    const config = await loadConfig({ directory, environment: {} });
    expect(config.database.embedded?.folder).toBe(join(directory, ".tallyman/postgres"));
    expect(await findConfigFile({ directory, environment: {} })).toBeUndefined();
  });

  it("loads the file that init writes, and gets the defaults from it", async () => {
    const defaults = await loadConfig({ directory, environment: {} });
    await writeFile(join(directory, configFileName), starterConfig());
    expect(await loadConfig({ directory, environment: {} })).toEqual(defaults);
  });

  it("loads the file that init writes with its pipeline uncommented", async () => {
    const [head = "", tail = ""] = starterConfig().split(/(?=^resources: \{\})/m);
    const uncommented = tail.replace(/: \{\}$/gm, ":").replace(/^# {3}/gm, "  ");
    await writeFile(join(directory, configFileName), head + uncommented);
    const config = await loadConfig({ directory, environment: {} });
    expect(Object.keys(config.resources)).toEqual([
      "tick-storage",
      "batch-topic",
      "batch-topic-dead-letters",
      "metadata-topic",
      "index-database",
      "tick-queue",
      "metadata-queue",
    ]);
    expect(config.services["dummy-indexer"]?.resources.topic).toEqual([
      { usage: "topic-read", resource: "batch-topic", parameters: { consumerGroup: "dummy-indexer" } },
    ]);
    const types = { services: builtInServices(), resources: builtInResources() };
    expect(wiringProblems(config, types)).toEqual([]);
  });

  it("prefers the flag's file, then the environment's, then the folder's", async () => {
    const names = [configFileName, "environment.yaml", "flag.yaml"];
    for (const [index, name] of names.entries()) {
      await writeFile(join(directory, name), `server: { port: ${index + 1} }`);
    }
    const environment = { TALLYMAN_CONFIG: "environment.yaml" };
    const port = async (options: object) =>
      (await loadConfig({ directory, environment: {}, ...options })).server.port;
    expect(await port({})).toBe(1);
    expect(await port({ environment })).toBe(2);
    expect(await port({ environment, flags: { config: "flag.yaml" } })).toBe(3);
  });

  it("answers a missing file with its path and the remedy", async () => {
    await expect(
      loadConfig({ directory, environment: {}, flags: { config: "no.yaml" } }),
    ).rejects.toMatchObject({
      code: "CONFIG_NOT_FOUND",
      message: expect.stringMatching(/^No configuration file at .*no\.yaml\. Run `tallyman init`.*\.$/),
    });
  });

  it("answers a folder in place of the file", async () => {
    await expect(loadConfig({ directory, environment: {}, flags: { config: "." } })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("can't be read (EISDIR)"),
    });
  });
});
