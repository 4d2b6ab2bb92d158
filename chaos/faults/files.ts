import { setTimeout as sleep } from "node:timers/promises";
import { nextFileMs, type Slot } from "../fleet/plan.ts";
import { type Fault, type FaultOutcome, slotsWith } from "./fault.ts";

/** Longer than a gap is searched before it is given up. */
const lateMs = 3_500;
const repairMs = 3_000;
const fullMs = 2_500;

/** What can happen to files and their announcements. */
export function fileFaults(slots: readonly Slot[]): Fault[] {
  const targets = slotsWith(slots, "tick-producer");
  if (targets.length === 0) return [];
  const asked = (name: string, weight: number, lastsMs = nextFileMs): Fault => ({
    name,
    targets,
    lastsMs,
    weight,
    inject: async (stage, { target, random }) =>
      (await stage.member(target).process.ask(name, random, nextFileMs)) ? "done" : "missed",
  });
  return [
    ...["file-flipped", "file-truncated", "file-torn"].map((name) => repaired(asked(name, 2))),
    asked("file-missing", 1),
    asked("file-duplicated", 2),
    restored(asked("file-late", 3, nextFileMs + lateMs)),
    asked("announcement-lost", 2),
    asked("announcement-reordered", 2),
    asked("announcement-duplicated", 4, 1_000),
    asked("announcement-hostile", 1, 1_000),
    diskFull,
  ];
}

/** Those of the damaged files are made whole again of which the producer kept a copy. */
function repaired(fault: Fault): Fault {
  return followedBy(fault, async (stage) => {
    await sleep(repairMs);
    await stage.storage.repair();
  });
}

/** Files that were taken away come back, when their gap has been given up. */
function restored(fault: Fault): Fault {
  return followedBy(fault, async (stage) => {
    await sleep(lateMs);
    await stage.storage.restoreHidden();
  });
}

function followedBy(fault: Fault, then: (...args: Parameters<Fault["inject"]>) => Promise<void>): Fault {
  return {
    ...fault,
    inject: async (stage, strike) => {
      const outcome: FaultOutcome = await fault.inject(stage, strike);
      if (outcome === "done") await then(stage, strike);
      return outcome;
    },
  };
}

const diskFull: Fault = {
  name: "disk-full",
  targets: ["storage"],
  lastsMs: fullMs + 1_000,
  weight: 2,
  inject: async (stage) => {
    const { disk } = stage.storage;
    if (disk.unfillable !== undefined) return { skipped: disk.unfillable };
    const isFull = await disk.fill();
    await sleep(isFull ? fullMs : 0);
    disk.empty();
    return isFull ? "done" : "missed";
  },
};
