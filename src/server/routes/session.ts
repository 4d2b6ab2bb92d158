import { Type } from "typebox";
import { closed, type RouteContext } from "../../api/index.ts";
import { isTallymanError } from "../../errors/index.ts";
import { roles } from "../../operators/index.ts";
import { type Authentication, setSessionCookie } from "../authenticate.ts";
import type { ServedRoutes } from "../serve-routes.ts";

const Session = Type.Object(
  {
    isRequired: Type.Boolean(),
    actor: Type.Union([Type.String(), Type.Null()]),
    role: Type.Union([Type.Unsafe<string>({ type: "string", enum: roles }), Type.Null()]),
    canViewPayloads: Type.Boolean(),
  },
  closed,
);

/** Log-in of the dashboard: a token becomes a cookie that no script can read. */
export function sessionRoutes(authentication: Authentication, { tallyman: { tokens } }: RouteContext) {
  return {
    "GET /api/session": {
      summary: "Who you are, and whether a token is needed",
      role: "anyone",
      data: Session,
      handle: async (request) => {
        const isRequired = await authentication.isRequired();
        const caller = await authentication.callerOf(request).catch((error: unknown) => {
          if (isTallymanError(error, "TOKEN_REQUIRED")) return undefined;
          throw error;
        });
        if (!caller) return { isRequired, actor: null, role: null, canViewPayloads: false };
        const { actor, role, canViewPayloads } = caller;
        return { isRequired, actor, role, canViewPayloads };
      },
    },
    "POST /api/session": {
      summary: "Log in with a token; sets a cookie for half a day",
      role: "anyone",
      body: Type.Object({ token: Type.String({ maxLength: 200 }) }, closed),
      data: Session,
      handle: async ({ body, ip }, reply) => {
        const caller = await authentication.check((body as { token: string }).token, ip);
        setSessionCookie(reply, await tokens.openSession(caller));
        const { actor, role, canViewPayloads } = caller;
        return { isRequired: true, actor, role, canViewPayloads };
      },
    },
    "DELETE /api/session": {
      summary: "Log out",
      role: "anyone",
      data: Type.Object({ loggedOut: Type.Boolean() }, closed),
      handle: async (request, reply) => {
        const caller = await authentication.callerOf(request).catch(() => undefined);
        if (caller?.isSession && caller.tokenId !== null) await tokens.revoke(caller.tokenId);
        setSessionCookie(reply, null);
        return { loggedOut: true };
      },
    },
  } satisfies ServedRoutes;
}
