/*
 * One sample: one contender does its work once, in this process and on databases of its own. A process for each
 * means that nobody's code is warm from another's work, and that memory and processor time are its own.
 */
import { Database, migrate } from "../../src/database/index.ts";
import { configureLogging } from "../../src/runtime/index.ts";
import { scenarios } from "../scenarios/index.ts";
import { measure, type Sample } from "./measure.ts";
import { type SampleRequest, samplePrefix } from "./sample-request.ts";

async function takeSample(request: SampleRequest): Promise<Sample> {
  const scenario = scenarios.find(({ name }) => name === request.scenario);
  const contender = scenario?.contenders.find(({ name }) => name === request.contender);
  if (!contender) throw new Error(`There is no ${request.contender} in ${request.scenario}`);
  const run = async (url: string, size: unknown) => {
    await using database = await Database.connect({ url, poolMax: 16 });
    await migrate(database);
    const { folder } = request;
    return await contender.run({ size, url, database, folder, measure: (work) => measure(database, work) });
  };
  if (scenario?.warmUp) await run(request.warmUpUrl, scenario.warmUp);
  return run(request.url, request.size);
}

const [argument = ""] = process.argv.slice(2);
configureLogging({ level: "error" });
const sample = await takeSample(JSON.parse(argument) as SampleRequest);
console.log(`${samplePrefix}${JSON.stringify(sample)}`);
