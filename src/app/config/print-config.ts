import { stringify } from "yaml";
import type { Config, ServiceConfig } from "./config.ts";
import { formatResourceUri, type ResourceUri } from "./resource-uri.ts";
import { isTree, mapEntries } from "./tree.ts";

const hidden = "***";

/** Words that mark a secret. Rather one value too many hidden than one too few. */
const secretWords =
  "passw|passphrase|passcode|pwd|secret|token|credential|creds|authorization|cookie|jwt|nkey|(?:access|api|account|private|signing|encryption|shared|master)[-_.]?key";

/** Keys whose value is hidden whatever it is, with everything beneath. */
const secretKey = new RegExp(`${secretWords}|^pass$|^auth$`, "i");

/** From the colon after the user to the last `@`: people forget to escape an `@` in a password. */
const urlPassword = /(:\/\/[^:@]*):[\s\S]*@/;

/** `?password=…`, `;PASSWORD=…`, `"token": …`: to the end, as nothing tells where a secret stops. */
const secretAssignment = new RegExp(`((?:${secretWords})[\\w.-]*["']?\\s*[=:]\\s*)[\\s\\S]*`, "i");

/**
 * Writes a configuration for people to read, with secrets hidden: values under keys such as password,
 * token or accessKey, and passwords inside URLs, become `***`. A configuration without secrets that is
 * printed and loaded again is the same. Pure.
 *
 * @param config - What `loadConfig` returned.
 * @param format - `yaml` (default) or `json`.
 *
 * @example
 * ```ts
 * process.stdout.write(printConfig(await loadConfig(), "json"));
 * ```
 */
export function printConfig(config: Config, format: "yaml" | "json" = "yaml"): string {
  const printable = fileForm(config);
  return format === "json"
    ? `${JSON.stringify(printable, null, 2)}\n`
    : stringify(printable, { lineWidth: 0, aliasDuplicateObjects: false });
}

/**
 * A copy of a value with its secrets hidden, by the rules of {@link printConfig}.
 *
 * @example
 * ```ts
 * hideSecrets("postgres://app:hunter2@db/app"); // "postgres://app:***@db/app"
 * ```
 */
export function hideSecrets(value: unknown): unknown {
  if (typeof value === "string") return hideInText(value);
  if (Array.isArray(value)) return value.map(hideSecrets);
  if (!isTree(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      secretKey.test(key) ? hideWhole(item) : hideSecrets(item),
    ]),
  );
}

function hideWhole(value: unknown): unknown {
  return value === null || value === undefined ? value : hidden;
}

function hideInText(text: string): string {
  return text.replace(urlPassword, `$1:${hidden}@`).replace(secretAssignment, `$1${hidden}`);
}

/** The form of the file, with secrets hidden. Names are no keys: a service may be called token-indexer. */
function fileForm({ resources, services, ...rest }: Config): unknown {
  return {
    ...(hideSecrets(rest) as object),
    resources: mapEntries(resources, ({ className, options }) => ({
      className,
      options: hideSecrets(options),
    })),
    services: mapEntries(services, serviceForm),
  };
}

function serviceForm({ className, resources, options }: ServiceConfig): unknown {
  const ports = mapEntries(resources, (uris) => {
    const texts = uris.map((uri) => formatResourceUri(withHiddenParameters(uri)));
    return texts.length === 1 ? texts[0] : texts;
  });
  return { className, resources: ports, options: hideSecrets(options) };
}

function withHiddenParameters(uri: ResourceUri): ResourceUri {
  return { ...uri, parameters: hideSecrets(uri.parameters) as ResourceUri["parameters"] };
}
