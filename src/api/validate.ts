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
  const where = part === "querystring" ? "Parameter" : "Field";
  const { missingProperty, additionalProperty, allowedValues } = params as FaultParameters;
  const field = missingProperty ?? additionalProperty ?? instancePath.slice(1).replaceAll("/", ".");
  const invalid = (text: string) =>
    new TallymanError("REQUEST_INVALID", `${where} '${field}' ${text}`, { details: { field } });
  if (keyword === "required") return invalid("is missing.");
  if (keyword === "enum") return invalid(`must be one of ${allowedValues?.join(", ")}.`);
  if (keyword !== "additionalProperties") return invalid(`${message}.`);
  const { properties = {} } = (schema ?? {}) as { properties?: object };
  return invalid(`is unknown. ${didYouMean(field, Object.keys(properties))}`);
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
