import type { OpenApiDocument, Operation, Parameter } from "./openapi.ts";

const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
h2{margin-top:2.5rem}details{border:1px solid #8885;border-radius:6px;margin:.4rem 0;padding:.5rem .8rem}
summary{cursor:pointer}code,pre{font:13px/1.45 ui-monospace,monospace}pre{overflow:auto;background:#8881;padding:.6rem}
b.method{display:inline-block;min-width:4.5rem}small{opacity:.75}table{border-collapse:collapse}td,th{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top}`;

/** The API for people: one static page, no script. */
export function docsPage({ info, paths }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const byTag = grouped(operations, ({ operation }) => operation.tags[0] ?? "");
  const sections = [...byTag].map(
    ([tag, entries]) =>
      `<h2 id="${toHtml(tag)}">${toHtml(tag)}</h2>${entries
        .map(({ path, method, operation }) => operationHtml(path, method, operation))
        .join("")}`,
  );
  const contents = [...byTag.keys()].map((tag) => `<a href="#${toHtml(tag)}">${toHtml(tag)}</a>`).join(" · ");
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${toHtml(info.title)} API</title><style>${style}</style>
<h1>${toHtml(info.title)} API</h1><p>${toHtml(info.description)}</p>
<p><a href="/openapi.json">OpenAPI document</a> · version ${toHtml(info.version)}</p><p>${contents}</p>${sections.join("")}</html>`;
}

function operationHtml(path: string, method: string, operation: Operation): string {
  const { summary, parameters, requestBody, responses } = operation;
  const body = Object.entries(requestBody?.content ?? {})
    .map(([type, { schema }]) => `<h4>Body <small>${toHtml(type)}</small></h4>${schemaHtml(schema)}`)
    .join("");
  const answer = (responses["200"] as { content?: Record<string, { schema?: object }> }).content ?? {};
  const answers = Object.values(answer).map(({ schema = {} }) => schemaHtml(dataOf(schema)));
  return `<details><summary><b class="method">${method.toUpperCase()}</b> <code>${toHtml(path)}</code> — ${toHtml(summary)}
<small>(${toHtml(operation["x-role"])})</small></summary>${parametersHtml(parameters)}${body}<h4>Answer</h4>${answers.join("")}</details>`;
}

function parametersHtml(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(
    ({ name, in: place, required, schema }) =>
      `<tr><td><code>${toHtml(name)}</code><td>${place}${required ? ", required" : ""}<td><code>${toHtml(JSON.stringify(schema))}</code>`,
  );
  return `<h4>Parameters</h4><table>${rows.join("")}</table>`;
}

function dataOf(schema: object): object {
  return (schema as { properties?: { data?: object } }).properties?.data ?? schema;
}

function schemaHtml(schema: object): string {
  return `<pre>${toHtml(JSON.stringify(schema, null, 2))}</pre>`;
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

function toHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
