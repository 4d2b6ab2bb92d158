import { signal } from "@preact/signals";
import { type Entered, propose } from "../actions.ts";
import { type Answer, call } from "../api.ts";
import { ChoiceField, NumberField, TextField } from "../components/fields.tsx";
import { logIn, type Session, session } from "../session.ts";

/** An access token as the API shows it. */
export type Token = Answer<"GET /api/tokens">[number];

const dayMs = 86_400_000;

/** The token that was just made: nobody can show its text again. It outlives the log-in that the first one brings. */
export const newToken = signal<{ readonly name: string; readonly token: string } | undefined>(undefined);

/** Asks for a token, makes it and shows it. */
export function proposeToken(done: () => void): void {
  const isFirst = session.value?.isRequired === false;
  propose({
    title: "New access token",
    text: isFirst
      ? "From the first token on everybody needs one, also on this machine. You will be logged in with it."
      : "Whoever has the token may use the API and this page, as far as its role allows.",
    fields: <TokenFields isFirst={isFirst} />,
    confirm: "Make token",
    run: async (reason, entered) => {
      const body = { ...enteredToken(entered), ...(reason && { reason }) };
      const { token } = await call("POST /api/tokens", { body });
      newToken.value = { name: body.name, token };
      if (isFirst) await logIn(token);
      done();
      return `${body.name} has a token.`;
    },
  });
}

/** The first one must be able to make others. */
function TokenFields({ isFirst }: { isFirst: boolean }) {
  const admin = ["admin", "admin: everything"] as const;
  return (
    <>
      <TextField name="name" label="Who or what uses it" isWide />
      <ChoiceField
        name="role"
        label="Role"
        choices={
          isFirst ? [admin] : [["read", "read: looks"], ["operate", "operate: sends and repairs"], admin]
        }
        initial={isFirst ? "admin" : "read"}
      />
      <ChoiceField
        name="payloads"
        label="Payloads"
        choices={[
          ["shown", "are shown"],
          ["hidden", "are hidden"],
        ]}
        initial="shown"
      />
      <NumberField name="days" label="Days in force (empty: until it is revoked)" isWide isOptional />
    </>
  );
}

function enteredToken(entered: Entered) {
  const days = entered("days");
  return {
    name: entered("name"),
    role: entered("role") as NonNullable<Session["role"]>,
    canViewPayloads: entered("payloads") === "shown",
    ...(days !== "" && { expiresInMs: Math.round(Number(days) * dayMs) }),
  };
}

/** Asks whether to end a token. */
export function proposeRevoke({ tokenId, name }: Token, done: () => void): void {
  propose({
    title: `Revoke the token of ${name}`,
    text: "The token and every log-in with it end at once, for good.",
    confirm: "Revoke",
    isDangerous: true,
    run: async (reason) => {
      await call("POST /api/tokens/:tokenId/revoke", {
        params: { tokenId },
        body: { ...(reason && { reason }) },
      });
      done();
      return `The token of ${name} is revoked.`;
    },
  });
}
