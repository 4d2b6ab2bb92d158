import { call } from "../api.ts";
import { Badge } from "../components/badge.tsx";
import { Panel } from "../components/panel.tsx";
import { Empty, WhenLoaded } from "../components/states.tsx";
import { type Column, Table } from "../components/table.tsx";
import { useData } from "../data.ts";
import { counted, formatCount, formatSpan } from "../format.ts";
import { openDeadLetters } from "./dead-letters.tsx";
import { type Group, GroupActions, type Topic } from "./group-actions.tsx";

/** One row per group, and one for a topic that has none. */
interface Row {
  readonly topic: Topic;
  readonly group: Group | undefined;
  readonly isFirst: boolean;
}

/** Topics with their groups, how far each is behind, and their dead letters. */
export function TopicPanel() {
  const topics = useData("topics", (signal) => call("GET /api/topics", { signal }), ["topics"]);
  const rows = topics.data?.filter(({ deadLettersOf }) => deadLettersOf === null).flatMap(rowsOf);
  return (
    <Panel title="Topics and consumer groups">
      <WhenLoaded of={{ ...topics, data: rows }}>
        {(data) =>
          data.length === 0 ? (
            <Empty title="No topic yet">A topic appears with its first writer or reader.</Empty>
          ) : (
            <Table
              label="Topics and consumer groups"
              columns={columnsOf(topics.reload)}
              rows={data}
              idOf={({ topic, group }) => `${topic.name} ${group?.group}`}
            />
          )
        }
      </WhenLoaded>
    </Panel>
  );
}

function rowsOf(topic: Topic): readonly Row[] {
  if (topic.groups.length === 0) return [{ topic, group: undefined, isFirst: true }];
  return topic.groups.map((group, index) => ({ topic, group, isFirst: index === 0 }));
}

function columnsOf(reload: () => void): readonly Column<Row>[] {
  return [
    {
      title: "Topic",
      cell: ({ topic, isFirst }) =>
        isFirst ? topic.name : <span class="visually-hidden">{topic.name}</span>,
    },
    {
      title: "Group",
      isWide: true,
      cell: ({ group }) => group?.group ?? <span class="faint">no group</span>,
    },
    { title: "State", cell: ({ group }) => group && <Badge state={group.isPaused ? "PAUSED" : "RUNNING"} /> },
    {
      title: "Lag",
      isNumber: true,
      cell: ({ group }) => group && <strong>{formatCount(group.messages)}</strong>,
    },
    {
      title: "Ready, claimed, delayed",
      isNumber: true,
      isSecondary: true,
      cell: ({ group }) => group && [group.ready, group.claimed, group.delayed].map(formatCount).join(" · "),
    },
    {
      title: "Oldest",
      isNumber: true,
      isSecondary: true,
      cell: ({ group }) =>
        group?.oldestAgeMs ? formatSpan(group.oldestAgeMs) : <span class="faint">–</span>,
    },
    {
      title: "Messages",
      isNumber: true,
      isSecondary: true,
      cell: ({ topic, isFirst }) => isFirst && formatCount(topic.messages),
    },
    { title: "Dead letters", isNumber: true, cell: DeadLetterCount },
    {
      title: "Action",
      cell: ({ topic, group }) => group && <GroupActions topic={topic} group={group} done={reload} />,
    },
  ];
}

function DeadLetterCount({ topic, isFirst }: Row) {
  const count = topic.deadLetterTopics.reduce((sum, { messages }) => sum + messages, 0);
  if (!isFirst) return null;
  if (count === 0) return <span class="faint">0</span>;
  return (
    <button
      type="button"
      class="button-link blocked"
      aria-label={`${counted(count, "dead letter")} of ${topic.name}`}
      onClick={() => openDeadLetters(topic.name)}
    >
      {formatCount(count)}
    </button>
  );
}
