import { isIP } from "node:net";
import type { FastifyRequest } from "fastify";
import { TallymanError } from "../errors/index.ts";
import type { AccessTokens } from "../operators/index.ts";

/** Whether only this machine reaches a host. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return bare === "localhost" || bare === "::1" || (isIP(bare) === 4 && bare.startsWith("127."));
}

/**
 * Refuses to listen where other machines reach us while nobody could be asked who they are.
 *
 * @throws TallymanError PUBLIC_BIND_REFUSED
 */
export async function refusePublicBind(host: string, tokens: AccessTokens): Promise<void> {
  if (isLoopback(host) || (await tokens.areInUse())) return;
  throw new TallymanError(
    "PUBLIC_BIND_REFUSED",
    `Not listening on ${host}: other machines could reach it, and there are no access tokens. Make one with 'tallyman token create', or use 127.0.0.1.`,
    { details: { host } },
  );
}

/**
 * Refuses requests that a page of another web site sends from a browser on this machine: those say where they
 * come from, or reach us by a name that was made to point here.
 *
 * @throws TallymanError REQUEST_FORBIDDEN
 */
export function refuseOtherSites({ headers }: FastifyRequest, listeningOn: string): void {
  const { host = "", origin } = headers;
  const reachedAs = hostnameOf(`http://${host}`);
  const isOurs = reachedAs !== undefined && (!isLoopback(listeningOn) || isLoopback(reachedAs));
  if (isOurs && (origin === undefined || isSameSite(origin, host))) return;
  const what = isOurs ? `the page ${origin}` : `a request to '${host}'`;
  throw new TallymanError("REQUEST_FORBIDDEN", `Refused: ${what} is not this server's.`, {
    details: isOurs ? { origin } : { host },
  });
}

/** Behind a proxy that speaks TLS the page is https and we are not. */
function isSameSite(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

function hostnameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}
