/**
 * Sends commands and batches, makes jobs, and acts as an operator on the troubleshooting queue. Everything it
 * intends, and everything that was accepted, is in its log first. Arguments: the parts that take part.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { answerRequests, isQuiet, openTallyman, random, serve } from "./child-kit.ts";
import { CommandSender } from "./command-sender.ts";
import { createJobs } from "./job-sender.ts";
import { Operator } from "./operator.ts";

const parts = process.argv.slice(2);
const tallyman = await openTallyman();
const sender = new CommandSender(tallyman.commands);
const operator = new Operator(tallyman.commands);
const betweenMs = 250;

answerRequests(async ({ what, random: number }) => {
  if (what === "burst") await sender.sendMany(Math.round(1_000 + number * 1_000), "Effect");
  else if (what === "poison") await sender.sendMany(20, number < 0.5 ? "Poison" : "Hang");
  else if (what === "huge") await sender.sendHuge();
  else throw new RangeError(`What is ${what}?`);
});
await serve([]);

if (parts.includes("scheduler")) await createJobs(tallyman.scheduler.jobs);
while (parts.includes("commands")) {
  await sleep(betweenMs);
  if (isQuiet()) continue;
  const number = random();
  if (number < 0.55) await sender.createBatch();
  else if (number < 0.8) await sender.sendMixed(5);
  else await operator.act();
}
