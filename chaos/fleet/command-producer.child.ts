/**
 * Sends commands and batches, makes jobs, and acts as an operator on the troubleshooting queue. Everything it
 * intends, and everything that was accepted, is in its log first. Arguments: the parts that take part.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isQuiet, openTallyman, type Request, random, serve } from "./child-kit.ts";
import { CommandSender } from "./command-sender.ts";
import { createJobs } from "./job-sender.ts";
import { Operator } from "./operator.ts";
import { overload } from "./plan.ts";

const parts = process.argv.slice(2);
const tallyman = await openTallyman();
const sender = new CommandSender(tallyman.commands);
const operator = new Operator(tallyman.commands);
const betweenMs = 250;
const operatorShare = 0.2;
const batchShare = 0.7;
const singles = 5;
const trickSize = 20;

const tricks: Readonly<Record<string, (random: number) => Promise<unknown>>> = {
  burst: (number) => sender.sendMany(Math.round(1_000 + number * 1_000), "Effect"),
  poison: () => sender.sendMany(trickSize, "Poison"),
  hanging: () => sender.sendMany(trickSize, "Hang"),
  huge: () => sender.sendHuge(),
  overload: () => sendTooMuch(),
};

/** Sends at ten times the usual rate, however long each send takes. */
async function sendTooMuch(): Promise<void> {
  const sent: Promise<void>[] = [];
  for (let n = 0; n < overload.lastsMs / (betweenMs / overload.factor); n++) {
    await sleep(betweenMs / overload.factor);
    sent.push(random() < batchShare ? sender.createBatch() : sender.sendMixed(singles));
  }
  await Promise.all(sent);
}

await serve([], async ({ what, random: number }: Request) => {
  const trick = tricks[what];
  if (!trick) throw new RangeError(`What is ${what}?`);
  await trick(number);
});

if (parts.includes("scheduler")) await createJobs(tallyman.scheduler.jobs);
while (parts.includes("commands")) {
  await sleep(betweenMs);
  if (isQuiet()) continue;
  if (random() < operatorShare) await operator.act();
  else if (random() < batchShare) await sender.createBatch();
  else await sender.sendMixed(singles);
}
