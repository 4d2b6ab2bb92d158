import { propose } from "../actions.ts";
import { call, type ItemOf } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { Age } from "../components/age.tsx";
import { Facts } from "../components/facts.tsx";
import { Inspector } from "../components/inspector.tsx";
import { Payload } from "../components/payload.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { More } from "../components/table.tsx";
import { usePages } from "../data.ts";
import { counted } from "../format.ts";
import { search, setSearch } from "../router.ts";

type DeadLetter = ItemOf<"GET /api/topics/:topic/dead-letters">;

const lettersPerPage = 10;

/** Opens the sheet with a topic's dead letters. */
export function openDeadLetters(topic: string): void {
  setSearch({ deadLetters: topic });
}

/** The dead letters of the topic that the address names, and the button that sends them back. */
export function DeadLetterInspector() {
  const topic = search.value.get("deadLetters");
  return topic ? <DeadLetters key={topic} topic={topic} /> : null;
}

function DeadLetters({ topic }: { topic: string }) {
  const pages = usePages<DeadLetter>(
    `dead letters ${topic}`,
    (cursor, signal) =>
      call("GET /api/topics/:topic/dead-letters", {
        params: { topic },
        query: { limit: lettersPerPage, ...(cursor && { cursor: Number(cursor) }) },
        signal,
      }),
    ["topics"],
  );
  return (
    <Inspector title={`Dead letters of ${topic}`} close={() => setSearch({ deadLetters: undefined })}>
      <div class="buttons">
        <ActionButton onClick={() => proposeRedrive(topic, pages.reload)}>Re-drive …</ActionButton>
      </div>
      <WhenLoaded of={{ ...pages, data: pages.items }}>
        {(letters) =>
          letters.length === 0 ? (
            <Empty title="No dead letter is left" />
          ) : (
            letters.map((letter) => <Letter key={letter.position} letter={letter} />)
          )
        }
      </WhenLoaded>
      <More of={pages} />
    </Inspector>
  );
}

function Letter({ letter }: { letter: DeadLetter }) {
  const { error, group, sourceService, retryCount, lastFailureAt, runId, payload } = letter;
  return (
    <section class="letter">
      <p class="error-text">{error}</p>
      <Facts
        of={[
          ["Group", group ?? "–"],
          ["Service", sourceService ?? "–"],
          ["Run", runId ?? "–"],
          ["Tried", counted(retryCount ?? 0, "time")],
          ["Given up", <Age key="age" of={lastFailureAt} />],
        ]}
      />
      <Payload label="Message" value={payload} />
    </section>
  );
}

function proposeRedrive(topic: string, reload: () => void): void {
  propose({
    title: `Re-drive ${topic}`,
    text: "Dead letters go back to the groups that gave them up, the oldest first.",
    preview: async () => {
      const { matched } = await call("GET /api/topics/:topic/redrive", { params: { topic } });
      return `${counted(matched, "dead letter")} would be sent back.`;
    },
    confirm: "Re-drive",
    run: async (reason) => {
      const { changed } = await call("POST /api/topics/:topic/redrive", {
        params: { topic },
        body: { ...(reason && { reason }) },
      });
      reload();
      return `${counted(changed, "dead letter")} sent back.`;
    },
  });
}
