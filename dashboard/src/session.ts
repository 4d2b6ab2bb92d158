import { computed, signal } from "@preact/signals";

/** Who looks at the page. */
export interface Session {
  /** Whether the server asks for tokens at all. */
  readonly isRequired: boolean;
  readonly actor: string | null;
  readonly role: "read" | "operate" | "admin" | null;
  readonly canViewPayloads: boolean;
}

const nobody: Session = { isRequired: true, actor: null, role: null, canViewPayloads: false };

/** Undefined until the server has been asked. */
export const session = signal<Session | undefined>(undefined);

/** Why the server could not be asked. */
export const sessionError = signal<string | undefined>(undefined);

const ranks = { read: 0, operate: 1, admin: 2 };

/** Whether the viewer may use actions of this role. */
export function mayAct(role: "operate" | "admin"): boolean {
  const own = session.value?.role;
  return own !== null && own !== undefined && ranks[own] >= ranks[role];
}

/** Whether the log-in is to be shown. */
export const needsLogIn = computed(() => session.value !== undefined && session.value.actor === null);

/** Asks the server who we are. */
export async function readSession(): Promise<void> {
  try {
    session.value = await ask("GET");
    sessionError.value = undefined;
  } catch (error) {
    sessionError.value = error instanceof Error ? error.message : String(error);
  }
}

/** The session has ended, or a token is needed all at once. */
export function logInAgain(): void {
  session.value = nobody;
}

/**
 * Exchanges a token for a cookie.
 *
 * @throws Error with the server's words
 */
export async function logIn(token: string): Promise<void> {
  session.value = await ask("POST", { token });
}

/** Ends the session. */
export async function logOut(): Promise<void> {
  await ask("DELETE");
  logInAgain();
}

/** The session is about cookies and no part of the table of routes that the client knows. */
async function ask(method: string, body?: object): Promise<Session> {
  const response = await fetch("/api/session", {
    method,
    ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { data?: Session; error?: { message: string } };
  if (!answer.data) throw new Error(answer.error?.message ?? `The server answered ${response.status}.`);
  return answer.data;
}
