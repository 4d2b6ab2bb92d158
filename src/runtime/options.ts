import { didYouMean, TallymanError } from "../errors/index.ts";
import { redactText } from "./redact.ts";

/** The default of an option that has none: whoever calls must give it. */
export const required: unique symbol = Symbol("required");

/** A default for every option; `undefined` for an optional one, {@link required} for one without default. */
export type OptionDefaults<T> = {
  readonly [K in keyof T]-?: T[K] | typeof required | (object extends Pick<T, K> ? undefined : never);
};

/** Options as callers give them: any subset. `undefined` means "not given". */
export type GivenOptions<T> = { readonly [K in keyof T]?: T[K] | undefined };

/**
 * What is wrong with a value, as the end of "Option 'x' must be …"; undefined when nothing is. The second
 * argument holds all the resolved options, for rules between two of them.
 */
export type OptionRule<V, T> = (value: V, options: Readonly<T>) => string | undefined;

/** Rules by option; a number without a rule must be a whole number of at least 1. */
export type OptionRules<T> = { readonly [K in keyof T]?: OptionRule<Exclude<T[K], undefined>, T> };

/** A rule that looks at nothing but the value. */
type Rule<V> = (value: V) => string | undefined;

/** A whole number in a range, both ends included. Default: 1 and up. */
export function wholeNumber(range: { min?: number; max?: number } = {}): Rule<number> {
  const { min = 1, max = Number.MAX_SAFE_INTEGER } = range;
  const bounds = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  return (value) =>
    Number.isSafeInteger(value) && value >= min && value <= max ? undefined : `a whole number ${bounds}`;
}

/** Any number in a range, both ends included. */
export function numberBetween(min: number, max: number): Rule<number> {
  return (value) => (value >= min && value <= max ? undefined : `a number from ${min} to ${max}`);
}

/** One of a few values. */
export function oneOf<V extends string>(...values: readonly V[]): Rule<V> {
  return (value) => (values.includes(value) ? undefined : `one of ${values.join(", ")}`);
}

/**
 * Resolves options once, at the edge: defaults under the given values, everything checked, then frozen.
 * A value must have the type of its default; see {@link OptionRules} for numbers.
 *
 * @throws TallymanError INVALID_OPTION naming the option: unknown (with a suggestion), missing, or out of range
 * @example
 * ```ts
 * const options = resolveOptions<IndexerOptions>(
 *   { topic: required, insertBatchSize: 1_000, maxRetries: 3, source: "topic" },
 *   given,
 *   { maxRetries: wholeNumber({ min: 0 }), source: oneOf("topic", "discovery") },
 * );
 * ```
 */
export function resolveOptions<T extends object>(
  defaults: OptionDefaults<T>,
  given: GivenOptions<T> = {},
  rules: OptionRules<T> = {},
): Readonly<T> {
  refuseUnknown(Object.keys(given), Object.keys(defaults));
  const names = Object.keys(defaults) as (keyof T & string)[];
  const resolve = (name: keyof T) => (given[name] === undefined ? defaults[name] : given[name]);
  const resolved = Object.fromEntries(names.map((name) => [name, resolve(name)])) as T;
  for (const name of names) {
    const fault = faultOf(resolved[name], defaults[name], rules[name], resolved);
    if (fault) throw invalidOption(name, resolved[name], fault);
  }
  return Object.freeze(resolved);
}

function refuseUnknown(names: readonly string[], known: readonly string[]): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TallymanError("INVALID_OPTION", `Unknown option '${unknown}'. ${didYouMean(unknown, known)}`, {
    details: { option: unknown },
  });
}

function faultOf<T, K extends keyof T>(
  value: T[K] | typeof required,
  defaultValue: T[K] | typeof required | undefined,
  rule: OptionRules<T>[K],
  options: T,
): string | undefined {
  if (value === required) return "given";
  if (value === undefined) return undefined;
  const hasType = defaultValue !== required && defaultValue !== undefined;
  if (hasType && typeof value !== typeof defaultValue) return `a ${typeof defaultValue}`;
  if (rule) return rule(value as Exclude<T[K], undefined>, options);
  return typeof value === "number" ? wholeNumber()(value) : undefined;
}

function invalidOption(option: string, value: unknown, fault: string): TallymanError {
  const but = value === required ? "" : `, but is ${described(value)}`;
  return new TallymanError("INVALID_OPTION", `Option '${option}' must be ${fault}${but}.`, {
    details: { option },
  });
}

function described(value: unknown): string {
  if (typeof value === "string") return `'${redactText(value)}'`;
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return String(value);
  return `of type ${typeof value}`;
}
