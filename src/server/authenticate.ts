import type { FastifyReply, FastifyRequest } from "fastify";
import { TallymanError } from "../errors/index.ts";
import { type AccessTokens, type Caller, type Role, roles } from "../operators/index.ts";
import { isPublic, type Listening } from "./access.ts";
import { RateLimiter } from "./rate-limiter.ts";

/** The cookie of the dashboard. */
export const sessionCookie = "tallyman_session";

/** On loopback, while there are no tokens: whoever is on this machine. */
const nobody: Caller = {
  actor: "local",
  role: "admin",
  canViewPayloads: true,
  tokenId: null,
  isSession: false,
};

/** Wrong tokens per minute and address: enough for slips, too few for guessing. */
const wrongTokensMax = 20;
const minuteMs = 60_000;

/** Who asks. Tokens are asked for as soon as there are any, and wherever other machines reach the server. */
export class Authentication {
  readonly #tokens: AccessTokens;
  readonly #isPublic: boolean;
  readonly #wrongTokens = new RateLimiter({ max: wrongTokensMax, windowMs: minuteMs });

  constructor(tokens: AccessTokens, listening: Listening) {
    this.#tokens = tokens;
    this.#isPublic = isPublic(listening);
  }

  /** Whether a caller needs a token. */
  async isRequired(): Promise<boolean> {
    return this.#isPublic || (await this.#tokens.areInUse());
  }

  /**
   * The caller of a request.
   *
   * @throws TallymanError TOKEN_REQUIRED without a token that is in force; TOO_MANY_REQUESTS after many wrong ones
   */
  async callerOf(request: FastifyRequest): Promise<Caller> {
    const text = tokenOf(request);
    if (text === undefined) {
      if (!(await this.isRequired())) return nobody;
      throw new TallymanError(
        "TOKEN_REQUIRED",
        "This server asks for an access token. Send it as 'Authorization: Bearer …', or log in.",
      );
    }
    return this.check(text, request.ip);
  }

  /** The caller who has this token; see {@link callerOf}. */
  async check(text: string, address: string): Promise<Caller> {
    const caller = await this.#tokens.authenticate(text);
    if (caller) return caller;
    refuseTooMany(this.#wrongTokens.hit(address));
    throw new TallymanError(
      "TOKEN_REQUIRED",
      "The access token is not in force: unknown, expired or revoked.",
    );
  }
}

/** @throws TallymanError ROLE_INSUFFICIENT */
export function refuseLesserRole({ role, actor }: Caller, needed: Role): void {
  if (roles.indexOf(role) >= roles.indexOf(needed)) return;
  throw new TallymanError("ROLE_INSUFFICIENT", `This needs the role '${needed}'; '${actor}' has '${role}'.`, {
    details: { needed, role },
  });
}

/** @throws TallymanError TOO_MANY_REQUESTS when there is time to wait */
export function refuseTooMany(waitMs: number): void {
  if (waitMs === 0) return;
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  throw new TallymanError("TOO_MANY_REQUESTS", `Too many; wait ${retryAfterSeconds} s.`, {
    details: { retryAfterSeconds },
  });
}

/** Gives the browser a session, or takes it away. */
export function setSessionCookie(reply: FastifyReply, token: string | null): void {
  const life = token === null ? "; Max-Age=0" : "";
  void reply.header(
    "set-cookie",
    `${sessionCookie}=${token ?? ""}; Path=/; HttpOnly; SameSite=Strict${life}`,
  );
}

function tokenOf({ headers: { authorization, cookie } }: FastifyRequest): string | undefined {
  if (authorization !== undefined) return authorization.replace(/^Bearer /i, "");
  const entries = (cookie ?? "").split(";").map((entry) => entry.trim());
  const found = entries.find((entry) => entry.startsWith(`${sessionCookie}=`));
  return found?.slice(sessionCookie.length + 1);
}
