import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import { TallymanError } from "../errors/index.ts";
import type { AccessTokens } from "../operators/index.ts";

/** Whether only this machine reaches a host. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return bare === "localhost" || bare === "::1" || (isIP(bare) === 4 && bare.startsWith("127."));
}

/** Where a server listens, and the address of the proxy before it, if there is one. */
export interface Listening {
  readonly host: string;
  readonly publicUrl?: string;
}

/** Whether other machines reach a server. */
export function isPublic({ host, publicUrl }: Listening): boolean {
  return !isLoopback(host) || publicUrl !== undefined;
}

/**
 * Refuses to listen where other machines reach us while nobody could be asked who they are.
 *
 * @throws TallymanError PUBLIC_BIND_REFUSED
 */
export async function refusePublicBind(listening: Listening, tokens: AccessTokens): Promise<void> {
  if (!isPublic(listening) || (await tokens.areInUse())) return;
  const { host, publicUrl } = listening;
  throw new TallymanError(
    "PUBLIC_BIND_REFUSED",
    `Not listening on ${publicUrl ?? host}: other machines could reach it, and there are no access tokens. Make one with 'tallyman token create', or use 127.0.0.1 alone.`,
    { details: { host } },
  );
}

/**
 * Refuses requests that a page of another web site sends from a browser on this machine: those say where they
 * come from, or reach us by a name that was made to point here.
 *
 * @throws TallymanError REQUEST_FORBIDDEN
 */
export function refuseOtherSites({ headers }: FastifyRequest, listening: Listening): void {
  const { host = "", origin } = headers;
  const isOurs = isOurName(host, listening);
  if (isOurs && (origin === undefined || isSameSite(origin, host, listening))) return;
  const what = isOurs ? `the page ${origin}` : `a request to '${host}'`;
  throw new TallymanError("REQUEST_FORBIDDEN", `Refused: ${what} is not this server's.`, {
    details: isOurs ? { origin } : { host },
  });
}

function isOurName(host: string, listening: Listening): boolean {
  const name = hostnameOf(`http://${host}`);
  if (name === undefined) return false;
  return !isLoopback(listening.host) || isLoopback(name) || name === hostnameOf(listening.publicUrl ?? "");
}

/** Behind a proxy that speaks TLS the page is https and we are not; and it may tell us another name than the page's. */
function isSameSite(origin: string, host: string, { publicUrl }: Listening): boolean {
  const own = [`http://${host}`, `https://${host}`];
  return own.includes(origin) || (publicUrl !== undefined && origin === new URL(publicUrl).origin);
}

function hostnameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}
