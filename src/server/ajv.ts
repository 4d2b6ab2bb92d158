import { Ajv } from "ajv";
import formats from "ajv-formats";
import type { FastifySchemaCompiler } from "fastify";
import type { TSchema } from "typebox";

/** With strict numbers, ajv would not look at the bounds of a text such as "Infinity". A field that nobody knows is a mistake to be told, not to be dropped. */
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

/** Checks parts of a request. */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) =>
  (httpPart === "body" ? ofJson : ofTexts).compile(schema);

function withFormats(ajv: Ajv): Ajv {
  formats.default(ajv, ["date-time", "uuid"]);
  return ajv;
}
