import type { Database } from "../../src/database/index.ts";
import type { Goal } from "./goals.ts";
import type { Sample } from "./measure.ts";

/** Small enough to end soon, or as the goals ask for. */
export type SizeName = "quick" | "full";

/** What is measured, beside what, and what it must reach. The runner treats all scenarios alike. */
export interface Scenario<Size> {
  readonly name: string;
  /** What is measured, in a sentence. */
  readonly what: string;
  readonly sizes: Readonly<Record<SizeName, Size>>;
  /** Each contender does this much, unmeasured, in the same process before; default: nothing. */
  readonly warmUp?: Size;
  /** What to show of a sample, by name, with its unit; the first is compared and plotted. */
  readonly figures: Readonly<Record<string, string>>;
  readonly goals: readonly Goal[];
  /** Fewer runs than asked for, where one takes very long. */
  readonly runsMax?: number;
  /** Exactly one of them is `ours`. */
  readonly contenders: readonly Contender<Size>[];
  /** Writes files that all contenders read, once; the folder is deleted at the end. */
  prepare?(folder: string, size: Size): Promise<void>;
}

/** One that does the work: we, somebody whom a user might pick instead, or what the machine can do at best. */
export interface Contender<Size> {
  readonly name: string;
  readonly kind: "ours" | "peer" | "limit";
  /** How it is set up; said in the report. */
  readonly settings: string;
  /** Why it can't run here; undefined when it can. */
  missing?(): string | undefined;
  /** Does the work once; runs in a process and on a database of its own. */
  run(context: Context<Size>): Promise<Sample>;
}

/** What a contender works with. */
export interface Context<Size> {
  readonly size: Size;
  /** An otherwise empty database with our tables. */
  readonly url: string;
  readonly database: Database;
  /** Where `prepare` wrote. */
  readonly folder: string;
  /** Measures the part of the work that counts; what is before and after it does not. */
  measure(work: () => Promise<Done>): Promise<Sample>;
}

/** How many items were done; with a time only where somebody closer to the work took it. */
export type Done = number | { readonly items: number; readonly seconds: number };

/** A scenario of any size. */
export type AnyScenario = Scenario<unknown>;
