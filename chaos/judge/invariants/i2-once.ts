import type { Evidence } from "../evidence.ts";
import type { CommandFacts, CommandRow, Facts, RunFacts } from "../facts.ts";
import type { Violation } from "../violation.ts";

const doubled = (what: string): Violation => ({ invariant: "I2", kind: "doubled", what });
const lost = (what: string): Violation => ({ invariant: "I2", kind: "lost", what });

const ended = new Set(["COMPLETED", "FAILED", "CANCELED"]);
/** Types whose handler writes in the transaction that completes the command. */
const exact = new Set(["Effect", "Flaky"]);

/** I2: every effect is there once: of commands, of replies, of fires, of ticks. */
export function checkOnce({ evidence, commands, runs }: Facts): Violation[] {
  const ofCommands = commands
    ? [...effectFaults(evidence, commands), ...replyFaults(evidence, commands), ...fireFaults(commands)]
    : [];
  return [...ofCommands, ...runs.flatMap(tickFaults)];
}

function effectFaults({ actions }: Evidence, { commands, effects, attempts }: CommandFacts): Violation[] {
  const byOperator = (outcome: string) =>
    new Set(
      actions
        .filter((one) => one.action === "complete" && one.outcome === outcome)
        .flatMap(({ commandIds }) => commandIds),
    );
  const [done, perhaps] = [byOperator("done"), byOperator("unknown")];
  return commands.flatMap((command) => {
    const { commandId, type, status } = command;
    const isByHandler = status === "COMPLETED" && !done.has(commandId);
    const mayBeByOperator = perhaps.has(commandId);
    const count = effects.get(commandId) ?? 0;
    if (count > (isByHandler && exact.has(type) ? 1 : 0))
      return [doubled(`command ${commandId} (${type}, ${status}) had ${count} effects`)];
    if (!isByHandler || mayBeByOperator) return [];
    const has = exact.has(type) ? count : type === "Plain" ? (attempts.get(commandId) ?? 0) : 1;
    return has === 0 ? [lost(`command ${commandId} (${type}) is completed and had no effect`)] : [];
  });
}

function replyFaults({ intents }: Evidence, { commands, replies }: CommandFacts): Violation[] {
  const wanted = new Set(
    intents.flatMap((intent) =>
      intent.commands.filter(({ wantsReply }) => wantsReply).map(({ commandId }) => commandId),
    ),
  );
  return commands.flatMap(({ commandId, status }) => {
    const expected = wanted.has(commandId) && ended.has(status) ? 1 : 0;
    const count = replies.get(commandId) ?? 0;
    if (count > expected) return [doubled(`command ${commandId} (${status}) had ${count} replies`)];
    return count < expected ? [lost(`command ${commandId} (${status}) had no reply`)] : [];
  });
}

function fireFaults({ commands }: CommandFacts): Violation[] {
  const fires = new Map<string, CommandRow[]>();
  for (const command of commands) {
    if (command.jobKey === null) continue;
    const fire = `${command.jobKey} at ${command.fireTime}`;
    fires.set(fire, [...(fires.get(fire) ?? []), command]);
  }
  return [...fires]
    .filter(([, sent]) => sent.length > 1)
    .map(([fire, sent]) => doubled(`job ${fire} put ${sent.length} commands on the bus`));
}

/** A tick is written once for each file that holds it and is indexed as far as that: files may be doubled, deliveries not. */
function tickFaults({ runId, samplingInterval, keylessClass, ledger, seen }: RunFacts): Violation[] {
  const expected = new Map<number, number>();
  for (const { indexerClass, tickStart, tickEnd, status, resumeAt } of ledger) {
    if (indexerClass !== keylessClass) continue;
    const count = status === "completed" ? (tickEnd - tickStart) / samplingInterval + 1 : resumeAt;
    for (let n = 0; n < count; n++) {
      const tick = tickStart + n * samplingInterval;
      expected.set(tick, (expected.get(tick) ?? 0) + 1);
    }
  }
  const ticks = new Set([...expected.keys(), ...seen.keys()]);
  return [...ticks].flatMap((tick) => {
    const [want, has] = [expected.get(tick) ?? 0, seen.get(tick) ?? 0];
    if (has > want) return [doubled(`tick ${tick} of ${runId} was written ${has} times, not ${want}`)];
    return has < want
      ? [lost(`tick ${tick} of ${runId} counts as indexed and was written ${has} times, not ${want}`)]
      : [];
  });
}
