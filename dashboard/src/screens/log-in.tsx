import { useState } from "preact/hooks";
import { messageOf } from "../api.ts";
import { logIn } from "../session.ts";
import { Brand } from "../shell.tsx";

/** Asks for an access token, which becomes a cookie that no script can read. */
export function LogInScreen() {
  const [token, setToken] = useState("");
  const [error, setError] = useState<string>();
  const submit = (event: Event) => {
    event.preventDefault();
    logIn(token.trim()).catch((failure: unknown) => setError(messageOf(failure)));
  };
  return (
    <main class="gate">
      <form class="gate-card" onSubmit={submit}>
        <Brand />
        <h1>Log in</h1>
        <p class="soft">
          This server asks for an access token. <code>tallyman token create</code> makes one.
        </p>
        <label class="field">
          Access token
          <input
            type="password"
            name="token"
            required
            autoComplete="current-password"
            value={token}
            onInput={({ currentTarget }) => setToken(currentTarget.value)}
          />
        </label>
        {error && (
          <p class="error-text" role="alert">
            {error}
          </p>
        )}
        <button type="submit" class="button button-main">
          Log in
        </button>
      </form>
    </main>
  );
}
