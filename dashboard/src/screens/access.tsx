import { call } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { Age } from "../components/age.tsx";
import { Panel, ScreenHead } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useData } from "../data.ts";
import { now } from "../now.ts";
import { newToken, proposeRevoke, proposeToken, type Token } from "./token-actions.tsx";

/** Who may use the API and this page. */
export function AccessScreen() {
  const tokens = useData("tokens", (signal) => call("GET /api/tokens", { signal }));
  return (
    <>
      <ScreenHead title="Access">
        <ActionButton needs="admin" onClick={() => proposeToken(tokens.reload)}>
          New token …
        </ActionButton>
      </ScreenHead>
      <NewToken />
      <Panel title="Access tokens" note="newest first">
        <WhenLoaded of={tokens}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty title="No token yet">
                Whoever reaches this server from its own machine may do everything; other machines can't.
              </Empty>
            ) : (
              <Table
                label="Access tokens"
                columns={columnsOf(tokens.reload)}
                rows={rows}
                idOf={({ tokenId }) => tokenId}
              />
            )
          }
        </WhenLoaded>
      </Panel>
    </>
  );
}

/** The text of the token that was just made, until it is put away. */
function NewToken() {
  const made = newToken.value;
  if (!made) return null;
  const putAway = () => {
    newToken.value = undefined;
  };
  return (
    <Panel
      title={`The token of ${made.name}`}
      note="keep it now: it is not shown again"
      actions={
        <>
          <CopyButton text={made.token} />
          <button type="button" class="button" onClick={putAway}>
            I have it
          </button>
        </>
      }
    >
      <div class="panel-body">
        <code class="secret">{made.token}</code>
      </div>
    </Panel>
  );
}

/** Browsers give a clipboard only to pages of this machine, or that came over TLS. */
function CopyButton({ text }: { text: string }) {
  if (!window.isSecureContext) return null;
  return (
    <button type="button" class="button" onClick={() => void navigator.clipboard.writeText(text)}>
      Copy
    </button>
  );
}

function columnsOf(reload: () => void): readonly Column<Token>[] {
  return [
    {
      title: "Name",
      isWide: true,
      cell: ({ name, tokenId }) => (
        <span class="two-lines">
          {name}
          <small>
            <code>{tokenId}</code>
          </small>
        </span>
      ),
    },
    { title: "Role", cell: ({ role }) => role },
    { title: "State", cell: TokenState },
    {
      title: "Payloads",
      isSecondary: true,
      cell: ({ canViewPayloads }) => (canViewPayloads ? "shown" : "hidden"),
    },
    { title: "Made by", isSecondary: true, cell: ({ createdBy }) => createdBy },
    { title: "Made", isSecondary: true, cell: ({ createdAt }) => <Age of={createdAt} /> },
    {
      title: "Ends",
      isSecondary: true,
      cell: ({ expiresAt }) => (expiresAt ? <Age of={expiresAt} /> : "never"),
    },
    { title: "Action", cell: (token) => <RevokeButton token={token} reload={reload} /> },
  ];
}

function TokenState({ revokedAt, expiresAt }: Token) {
  if (revokedAt) return <span class="badge tone-calm">revoked</span>;
  if (expiresAt && Date.parse(expiresAt) <= now.value) return <span class="badge tone-calm">expired</span>;
  return <span class="badge tone-good">in force</span>;
}

function RevokeButton({ token, reload }: { token: Token; reload: () => void }) {
  return (
    <ActionButton
      isSmall
      needs="admin"
      isDisabled={token.revokedAt !== null}
      label={`Revoke the token of ${token.name}`}
      onClick={() => proposeRevoke(token, reload)}
    >
      Revoke …
    </ActionButton>
  );
}
