import { Command } from "commander";
import type { Api } from "../client/index.ts";
import { TallymanError } from "../errors/index.ts";
import type { MisfirePolicy } from "../scheduler/index.ts";
import type { AuditedOptions } from "./audited.ts";
import { defaultDomain, given, parseDuration, parseJson, parseNumber, parseTime } from "./command-options.ts";
import { describeJob } from "./job-show.ts";
import { withCaller } from "./open.ts";
import { printResult } from "./output.ts";
import { readCommands } from "./read-commands.ts";

interface Options extends AuditedOptions {
  readonly at?: string;
  readonly every?: string;
  readonly cron?: string;
  readonly zone?: string;
  readonly domain: string;
  readonly type?: string;
  readonly data?: string;
  readonly batchFile?: string;
  readonly batchName?: string;
  readonly start?: string;
  readonly end?: string;
  readonly maxFires?: string;
  readonly jitter?: string;
  readonly misfire?: string;
  readonly grace?: string;
  readonly catchUp?: string;
  readonly overlap?: string;
  readonly fireField?: string;
  readonly disabled?: boolean;
}

const misfirePolicies: Readonly<Record<string, MisfirePolicy>> = {
  skip: "SKIP",
  once: "FIRE_ONCE",
  all: "FIRE_ALL",
};
const overlapPolicies = { allow: "ALLOW", skip: "SKIP" } as const;

/** `tallyman job add`: stores a job. */
export function jobAddCommand(): Command {
  return new Command("add")
    .description("add a job: a schedule, and the command or batch that each fire sends")
    .argument("<key>", "a name of its own")
    .option("--at <time>", "fire once, at this time (ISO 8601)")
    .option("--every <duration>", "fire every so often: 500ms, 30s, 5m, 2h, 1d")
    .option(
      "--cron <pattern>",
      "fire by a cron pattern: '30 2 * * *', with seconds '0 30 2 * * *', or @daily",
    )
    .option("--zone <name>", "IANA time zone of the pattern (default: UTC)")
    .option("--domain <name>", "domain of its commands", defaultDomain)
    .option("--type <type>", "command type: each fire sends one command")
    .option("--data <json>", "the command's data (default: {})")
    .option(
      "--batch-file <path>",
      "each fire sends this file as a batch: one JSON command per line, 1,000 at most",
    )
    .option("--batch-name <text>", "a name for its batches")
    .option("--start <time>", "no fire before; the zero of --every (default: now)")
    .option("--end <time>", "no fire from then on")
    .option("--max-fires <n>", "end after so many fires")
    .option("--jitter <duration>", "delay each fire by up to this, to spread load")
    .option(
      "--misfire <policy>",
      "times that nobody could fire: skip, once (the latest) or all (default: once)",
    )
    .option("--grace <duration>", "with --misfire skip: how late a fire may be (default: 10s)")
    .option("--catch-up <duration>", "with once and all: older times don't fire any more (default: 7d)")
    .option(
      "--overlap <policy>",
      "allow, or skip a fire while the last one's work has not ended (default: allow)",
    )
    .option("--fire-field <name>", "field of the data that gets { jobKey, fireTime }")
    .option("--disabled", "keep it, but don't fire it yet")
    .addHelpText("after", examples)
    .action(async (key: string, _options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const body = { key, ...(await definitionOf(options)) };
      const job = await withCaller(options, (caller) => caller.call("POST /api/jobs", { body }));
      printResult(options, job, `Added.\n${describeJob(job)}\nNext: tallyman job show ${key}`);
    });
}

const examples = `
Examples:
  $ tallyman job add nightly --cron '30 2 * * *' --zone Europe/Berlin --domain billing --type CreateInvoices
  $ tallyman job add poll --every 30s --type Poll --data '{"source": "bank"}' --overlap skip
  $ tallyman job add import --cron '0 * * * *' --batch-file commands.ndjson --domain orders
  $ tallyman job add greet --at 2030-01-01T00:00:00Z --type Greet`;

type NewJob = Api["POST /api/jobs"]["body"];

async function definitionOf(options: Options): Promise<Omit<NewJob, "key">> {
  const { start, end, maxFires, jitter, grace, catchUp, fireField } = options;
  return {
    schedule: scheduleOf(options),
    ...(await payloadOf(options)),
    enabled: !options.disabled,
    ...given({
      startAt: start === undefined ? undefined : parseTime("--start", start).toISOString(),
      endAt: end === undefined ? undefined : parseTime("--end", end).toISOString(),
      maxFires: maxFires === undefined ? undefined : parseNumber("--max-fires", maxFires),
      jitterMs: jitter === undefined ? undefined : parseDuration("--jitter", jitter),
      misfireGraceMs: grace === undefined ? undefined : parseDuration("--grace", grace),
      catchUpWindowMs: catchUp === undefined ? undefined : parseDuration("--catch-up", catchUp),
      misfirePolicy: chosen("--misfire", misfirePolicies, options.misfire),
      overlapPolicy: chosen("--overlap", overlapPolicies, options.overlap),
      fireField,
    }),
  };
}

function scheduleOf({ at, every, cron, zone }: Options): NewJob["schedule"] {
  if ([at, every, cron].filter((given) => given !== undefined).length !== 1)
    throw new TallymanError("USAGE", "Say when it fires: one of --at, --every and --cron.");
  if (zone !== undefined && cron === undefined) throw new TallymanError("USAGE", "--zone belongs to --cron.");
  if (at !== undefined) return { at: parseTime("--at", at).toISOString() };
  if (every !== undefined) return { everyMs: parseDuration("--every", every) };
  return given({ cron, timeZone: zone });
}

async function payloadOf(options: Options): Promise<Pick<NewJob, "command" | "batch">> {
  const { domain, type, data, batchFile, batchName } = options;
  if ((type === undefined) === (batchFile === undefined))
    throw new TallymanError("USAGE", "Say what it sends: --type for one command, or --batch-file.");
  if (type !== undefined)
    return { command: { domain, commandType: type, data: parseJson("--data", data ?? "{}") } };
  const commands: NonNullable<NewJob["batch"]>["commands"] = [];
  for await (const line of readCommands(batchFile ?? "")) commands.push(line);
  return { batch: { domain, commands, ...given({ name: batchName }) } };
}

function chosen<Value>(
  option: string,
  known: Readonly<Record<string, Value>>,
  given: string | undefined,
): Value | undefined {
  if (given === undefined) return undefined;
  const value = known[given.toLowerCase()];
  if (value !== undefined) return value;
  throw new TallymanError(
    "USAGE",
    `${option} must be one of ${Object.keys(known).join(", ")}, but is '${given}'.`,
  );
}
