import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import formats from "ajv-formats";
import type { TSchema } from "typebox";
import { didYouMean, TallymanError } from "../errors/index.ts";

/** A part of a request that has a schema of its own. */
export type RequestPart = "params" | "querystring" | "body";

/**
 * A field that nobody knows is a mistake to be told, not to be dropped. With strict numbers, ajv would not look at
 * the bounds of a text such as "Infinity".
 */
const common = {
  removeAdditional: false,
  strict: false,
  strictNumbers: false,
  allowUnionTypes: true,
} as const;

/** Parameters of a URL are texts: they become what the schema says. */
const ofTexts = withFormats(new Ajv({ ...common, coerceTypes: true, useDefaults: true }));
/** What is JSON has types of its own, and must have the right ones. */
const ofJson = withFormats(new Ajv(common));

/** Makes the check of one part of a request that came over HTTP. */
export function compileValidator({
  schema,
  httpPart,
}: {
  readonly schema: TSchema;
  readonly httpPart?: string;
}): ValidateFunction {
  return (httpPart === "body" ? ofJson : ofTexts).compile(schema);
}

/** @throws TallymanError REQUEST_INVALID, the same that a server answers, unless the value fits the schema */
export function refuseInvalid(part: RequestPart, schema: TSchema, value: unknown): void {
  const check = ofJson.compile(schema);
  if (check(value)) return;
  const [fault] = check.errors ?? [];
  if (fault) throw validationError(fault, part, schema);
}

/** What the validator found, as an error that names the field and what it accepts. */
export function validationError(
  { keyword, params, instancePath, message = "is not valid" }: Fault,
  part: string,
  schema: TSchema | undefined,
): TallymanError {
  const { missingProperty, additionalProperty, allowedValues } = params as FaultParameters;
  const path = instancePath.split("/").slice(1);
  const name = missingProperty ?? additionalProperty;
  const field = [...path.slice(isList(schema) ? 1 : 0), ...(name === undefined ? [] : [name])].join(".");
  // Of an import: people count from one.
  const item = isList(schema) && path[0] !== undefined ? `Item ${Number(path[0]) + 1}: ` : "";
  const where = part === "querystring" ? "Parameter" : "Field";
  const invalid = (text: string) =>
    new TallymanError("REQUEST_INVALID", `${item}${where} '${field}' ${text}`, { details: { field } });
  if (keyword === "required") return invalid("is missing.");
  if (keyword === "enum") return invalid(`must be one of ${allowedValues?.join(", ")}.`);
  if (keyword !== "additionalProperties") return invalid(`${message}.`);
  return invalid(`is unknown. ${didYouMean(name ?? "", fieldsAt(schema, path))}`);
}

function isList(schema: TSchema | undefined): boolean {
  return (schema as { type?: string } | undefined)?.type === "array";
}

/** Names of the fields that a schema has at a place within. */
function fieldsAt(schema: TSchema | undefined, path: readonly string[]): string[] {
  const inner = path.reduce<Nested | undefined>(
    (outer, part) => outer?.properties?.[part] ?? outer?.items,
    schema,
  );
  return Object.keys(inner?.properties ?? {});
}

interface Nested {
  readonly properties?: Readonly<Record<string, Nested>>;
  readonly items?: Nested;
}

type Fault = Pick<ErrorObject, "keyword" | "params" | "instancePath" | "message">;

interface FaultParameters {
  readonly missingProperty?: string;
  readonly additionalProperty?: string;
  readonly allowedValues?: readonly string[];
}

function withFormats(ajv: Ajv): Ajv {
  formats.default(ajv, ["date-time", "uuid"]);
  return ajv;
}
