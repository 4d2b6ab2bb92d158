import { TallymanError } from "../../errors/index.ts";
import { sleep } from "../../runtime/index.ts";
import { interruption } from "../interrupt.ts";

const pollMs = 20;
const stepMsMax = 180_000;

/** Waits until something holds; a demo that gets stuck says where. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + stepMsMax;
  while (!(await holds())) {
    if (performance.now() > deadlineMs)
      throw new TallymanError("TIMED_OUT", `The demo waited ${stepMsMax / 1000} s for ${what}.`);
    await sleep(pollMs, interruption);
  }
}
