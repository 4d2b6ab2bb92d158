import { describe, expect, it } from "vitest";
import { isTallymanError } from "../errors/index.ts";
import { type Config, openConfiguredStorage } from "./index.ts";

function configWith(resources: Config["resources"]): Config {
  return { resources } as Config;
}

const ticks = { className: "FileSystemStorage", options: { rootDirectory: "ticks" } };
const other = { className: "FileSystemStorage", options: { rootDirectory: "other" } };
const topic = { className: "PostgresTopic", options: {} };

describe("openConfiguredStorage", () => {
  it("opens the only storage, the named one, or files beside the configuration", () => {
    const folder = "/project";
    expect(openConfiguredStorage(configWith({ topic }), { folder }).place).toBe("/project/.tallyman/storage");
    expect(openConfiguredStorage(configWith({ topic, ticks }), { folder }).place).toBe("/project/ticks");
    expect(openConfiguredStorage(configWith({ ticks, other }), { folder, name: "other" }).place).toBe(
      "/project/other",
    );
  });

  it("asks when there are several, and refuses a name that is no storage", () => {
    const codeOf = (resources: Config["resources"], name?: string) => {
      try {
        return openConfiguredStorage(configWith(resources), { name }).place;
      } catch (error) {
        return isTallymanError(error) ? error.code : error;
      }
    };
    expect(codeOf({ ticks, other })).toBe("CONFIG_INVALID");
    expect(codeOf({ ticks }, "tocks")).toBe("CONFIG_INVALID");
    expect(codeOf({ ticks, topic }, "topic")).toBe("CONFIG_INVALID");
  });
});
