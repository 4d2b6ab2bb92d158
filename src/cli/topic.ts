import { Command, InvalidArgumentError } from "commander";
import { exitCodes, TallymanError } from "../errors/index.ts";
import { type GroupInfo, NatsTopics, type SeekTarget, type TopicInfo } from "../topics/index.ts";
import { ApiTopics, type OperatedTopics } from "./api-topics.ts";
import { type AuditedOptions, audited } from "./audited.ts";
import { timeOf } from "./command-options.ts";
import { durationText, parseDuration } from "./duration.ts";
import { openConfig, withCaller } from "./open.ts";
import { alignColumns, printResult } from "./output.ts";

interface Options extends AuditedOptions {
  readonly nats?: string;
}

interface RunOptions extends Options {
  readonly run?: string;
}

const natsHelp = "NATS servers to look at instead of PostgreSQL; NATS_URL does the same";

/** `tallyman topic …`: looks at topics and their consumer groups, moves groups, takes dead letters back. */
export function topicCommand(): Command {
  const looks = [listCommand(), groupsCommand(), lagCommand()];
  const actions = [
    seekCommand(),
    pauseCommand(),
    resumeCommand(),
    redriveCommand(),
    retentionCommand(),
    deleteGroupCommand(),
  ];
  const topic = new Command("topic").description("look at topics and consumer groups, and operate them");
  for (const command of [...looks, ...actions.map(audited)]) {
    topic.addCommand(command.option("--nats <servers>", natsHelp));
  }
  return topic;
}

function listCommand(): Command {
  return new Command("list")
    .description("list all topics: type, messages kept, groups, retention")
    .addHelpText("after", "\nExample:\n  $ tallyman topic list --json | jq '.topics[].name'")
    .action(async (_options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const topics = await withTopics(options, (opened) => opened.listTopics());
      printResult(options, { topics }, describeTopics(topics));
    });
}

function groupsCommand(): Command {
  return new Command("groups")
    .description("list the consumer groups of a topic, or of all")
    .argument("[topic]", "only this topic's")
    .addHelpText("after", "\nExample:\n  $ tallyman topic groups batch-topic")
    .action(async (topic: string | undefined, _options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const groups = await withTopics(options, (opened) => opened.listGroups(topic));
      printResult(options, { groups }, describeGroups(groups));
    });
}

function lagCommand(): Command {
  return new Command("lag")
    .description("show how far each group is behind: messages by state, and the age of the oldest")
    .argument("[topic]", "only this topic's groups")
    .option("--run <id>", "count this simulation run's messages only")
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman topic lag batch-topic\n  $ tallyman topic lag --json | jq '[.groups[].messages] | add'",
    )
    .action(async (topic: string | undefined, _options: RunOptions, command: Command) => {
      const options = command.optsWithGlobals<RunOptions>();
      const run = options.run === undefined ? {} : { runId: options.run };
      const groups = await withTopics(options, (opened) => opened.listGroups(topic, run));
      printResult(options, { groups }, describeLag(groups));
    });
}

function seekCommand(): Command {
  return new Command("seek")
    .description("move a group: everything from there on is delivered again, nothing before")
    .argument("<topic>")
    .argument("<group>")
    .requiredOption(
      "--to <where>",
      "beginning, end, a position, or a time like 2025-01-31T12:00Z",
      parseTarget,
    )
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman topic seek batch-topic dummy-indexer --to beginning\n  $ tallyman topic seek batch-topic dummy-indexer --to 2025-01-31T12:00Z\n\nMessages that consumers hold at this moment become stale: they can no longer be acknowledged.",
    )
    .action(async (topic: string, group: string, _options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options & { to: SeekTarget }>();
      const after = await withTopics(options, async (opened) => {
        await opened.seekGroup(topic, group, options.to);
        return (await opened.listGroups(topic)).find((each) => each.group === group);
      });
      printResult(
        options,
        after,
        `Group ${group} of topic ${topic} has ${after?.messages ?? 0} messages before it.`,
      );
    });
}

function pauseCommand(): Command {
  return onGroup("pause", "hand nothing out to a group until it is resumed", (topics, topic, group) =>
    topics.pauseGroup(topic, group),
  );
}

function resumeCommand(): Command {
  return onGroup("resume", "end the pause of a group", (topics, topic, group) =>
    topics.resumeGroup(topic, group),
  );
}

function redriveCommand(): Command {
  return new Command("redrive")
    .description("give a topic's dead letters back to the groups that gave them up")
    .argument("<topic>", "the topic that they came from, not the dead-letter topic")
    .option("--group <name>", "only those of this group")
    .option("--run <id>", "only those of this simulation run")
    .option("--limit <count>", "at most so many, oldest first (default: 10000)", parseCount)
    .addHelpText("after", "\nExample:\n  $ tallyman topic redrive batch-topic --group dummy-indexer")
    .action(async (topic: string, _options: RunOptions, command: Command) => {
      const options = command.optsWithGlobals<RunOptions & { group?: string; limit?: number }>();
      const { group, run, limit } = options;
      const chosen = { ...(group && { group }), ...(run && { runId: run }), ...(limit && { limit }) };
      const redriven = await withTopics(options, (opened) => opened.redrive(topic, chosen));
      printResult(options, { topic, redriven }, `${redriven} of topic ${topic}'s dead letters went back.`);
    });
}

function retentionCommand(): Command {
  return new Command("retention")
    .description("set how long a topic keeps messages that every group has acknowledged")
    .argument("<topic>")
    .argument("<duration>", "7d, 12h, 30min, 90s, 500ms, or forever", parseRetention)
    .addHelpText(
      "after",
      "\nExamples:\n  $ tallyman topic retention batch-topic 7d\n  $ tallyman topic retention batch-topic forever\n\nPostgreSQL: swept by 'tallyman up', and never before every group has acknowledged. NATS forgets by age alone.",
    )
    .action(async (topic: string, retention: Retention, _options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const { retentionMs } = retention;
      await withTopics(options, (opened) => opened.setRetention(topic, retentionMs));
      const kept = retentionMs === null ? "for ever" : `for ${durationText(retentionMs)}`;
      printResult(options, { topic, retentionMs }, `Topic ${topic} keeps acknowledged messages ${kept}.`);
    });
}

function deleteGroupCommand(): Command {
  return new Command("delete-group")
    .description("delete a consumer group and its place in the topic; its readers fail from then on")
    .argument("<topic>")
    .argument("<group>")
    .option("--yes", "do it; without this the command only says what would be lost")
    .addHelpText("after", "\nExample:\n  $ tallyman topic delete-group batch-topic dummy-indexer --yes")
    .action(async (topic: string, group: string, _options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options & { yes?: boolean }>();
      const { messages } = await withTopics(options, (opened) =>
        deleteGroup(opened, topic, group, options.yes ?? false),
      );
      const done = options.yes ?? false;
      const text = done
        ? `Group ${group} of topic ${topic} is deleted; it had ${messages} messages before it.`
        : `Group ${group} of topic ${topic} has ${messages} messages before it. Nothing was deleted: add --yes to do it.`;
      printResult(options, { topic, group, messages, deleted: done }, text);
      if (!done) process.exitCode = exitCodes.usage;
    });
}

async function deleteGroup(topics: OperatedTopics, topic: string, group: string, isSure: boolean) {
  const found = (await topics.listGroups(topic)).find((each) => each.group === group);
  if (!found) {
    throw new TallymanError("TOPIC_GROUP_NOT_FOUND", `Topic '${topic}' has no group '${group}'.`, {
      details: { topic, group },
    });
  }
  if (isSure) await topics.deleteGroup(topic, group);
  return found;
}

function onGroup(
  name: string,
  description: string,
  act: (topics: OperatedTopics, topic: string, group: string) => Promise<void>,
): Command {
  return new Command(name)
    .description(description)
    .argument("<topic>")
    .argument("<group>")
    .addHelpText("after", `\nExample:\n  $ tallyman topic ${name} batch-topic dummy-indexer`)
    .action(async (topic: string, group: string, _options: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      await withTopics(options, (opened) => act(opened, topic, group));
      printResult(options, { topic, group, done: name }, `Group ${group} of topic ${topic}: ${name}d.`);
    });
}

async function withTopics<T>(options: Options, work: (topics: OperatedTopics) => Promise<T>): Promise<T> {
  const { nats, url } = options;
  if (nats !== undefined && url !== undefined)
    throw new TallymanError(
      "USAGE",
      "--url names a server of Tallyman, --nats one of NATS. Keep one of them.",
    );
  const servers = nats ?? (url === undefined ? process.env.NATS_URL : undefined);
  if (!servers) return withCaller(options, (caller) => work(new ApiTopics(caller)));
  if (options.operator !== undefined || options.reason !== undefined)
    throw new TallymanError("USAGE", "NATS keeps no audit. Leave out --operator and --reason.");
  await openConfig(options);
  await using topics = await NatsTopics.connect({ servers });
  return await work(topics);
}

function parseTarget(text: string): SeekTarget {
  if (text === "beginning" || text === "end") return text;
  if (/^\d+$/.test(text)) return { position: Number(text) };
  const time = timeOf(text);
  if (time) return { time };
  throw new InvalidArgumentError("Write beginning, end, a position, or a time like 2025-01-31T12:00Z.");
}

/** Not the bare number: commander can't tell a parsed null from an argument that is missing. */
interface Retention {
  readonly retentionMs: number | null;
}

function parseRetention(text: string): Retention {
  return { retentionMs: text === "forever" ? null : parseDuration(text) };
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError("Write a whole number of at least 1.");
}

function describeTopics(topics: readonly TopicInfo[]): string {
  if (topics.length === 0) return "No topics yet: the first writer or reader makes one.";
  const rows = topics.map((topic) => [
    topic.name,
    topic.messageType,
    String(topic.messages),
    String(topic.groups),
    topic.retentionMs === null ? "for ever" : durationText(topic.retentionMs),
    topic.deadLettersOf === null ? "" : `dead letters of ${topic.deadLettersOf}`,
  ]);
  return alignColumns([["TOPIC", "TYPE", "MESSAGES", "GROUPS", "KEPT", ""], ...rows]);
}

function describeGroups(groups: readonly GroupInfo[]): string {
  if (groups.length === 0) return "No consumer groups yet: the first reader makes one.";
  const rows = groups.map(({ topic, group, isPaused, createdAt, messages }) => [
    topic,
    group,
    isPaused ? "paused" : "active",
    createdAt.toISOString(),
    String(messages),
  ]);
  return alignColumns([["TOPIC", "GROUP", "STATE", "CREATED", "BEHIND"], ...rows]);
}

function describeLag(groups: readonly GroupInfo[]): string {
  if (groups.length === 0) return "No consumer groups yet: the first reader makes one.";
  const rows = groups.map(({ topic, group, messages, ready, claimed, delayed, oldestAgeMs }) => [
    topic,
    group,
    ...[messages, ready, claimed, delayed].map(String),
    oldestAgeMs === null ? "-" : durationText(oldestAgeMs),
  ]);
  const head = ["TOPIC", "GROUP", "BEHIND", "READY", "CLAIMED", "DELAYED", "OLDEST"];
  return alignColumns([head, ...rows]);
}
