/** The part of JSON Schema that the API uses. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

const formats: Readonly<Record<string, string>> = { uuid: "uuid", "date-time": "time", binary: "bytes" };
const lineLettersMax = 100;

/** A schema in the notation of TypeScript, on one line when it fits; limits and descriptions of fields stand behind them. */
export function typeText(schema: JsonSchema, indent = ""): string {
  if (schema.anyOf) return schema.anyOf.map((each) => typeText(each, indent)).join(" | ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.items) return arrayText(typeText(schema.items, indent));
  if (schema.properties) return objectText(schema, indent);
  const values = schema.patternProperties ? Object.values(schema.patternProperties)[0] : undefined;
  if (values) return `{ [name]: ${typeText(values, indent)} }`;
  const types = [schema.type ?? "any"].flat();
  return types
    .map((type) => (type === "string" ? (formats[schema.format ?? ""] ?? "string") : type))
    .join(" | ");
}

function arrayText(item: string): string {
  return item.includes(" | ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
}

function objectText({ properties = {}, required = [] }: JsonSchema, indent: string): string {
  const deeper = `${indent}  `;
  const fields = Object.entries(properties).map(([name, field]) => {
    const optional = required.includes(name) ? "" : "?";
    return `${name}${optional}: ${typeText(field, deeper)}${noteOf(field)}`;
  });
  if (fields.length === 0) return "{}";
  const line = `{ ${fields.join(", ")} }`;
  const fits = !/\n|\/\//.test(line) && indent.length + line.length <= lineLettersMax;
  return fits ? line : `{\n${fields.map((field) => `${deeper}${field}`).join("\n")}\n${indent}}`;
}

function noteOf(schema: JsonSchema): string {
  const notes = [limitsText(schema), schema.description ?? ""].filter((note) => note !== "");
  return notes.length === 0 ? "" : ` // ${notes.join("; ")}`;
}

/** The limits that a value has beside its type. */
export function limitsText({ minimum, maximum, maxLength, maxItems, format }: JsonSchema): string {
  const isShown = (value: number | undefined) => value !== undefined && Math.abs(value) < 2 ** 31 - 1;
  if (isShown(minimum) && isShown(maximum)) return `${minimum} to ${maximum}`;
  if (isShown(minimum) && minimum !== 0) return `${minimum} or more`;
  if (maxItems !== undefined) return `${maxItems} at most`;
  return maxLength !== undefined && format === undefined ? `${maxLength} characters at most` : "";
}
