import { useState } from "preact/hooks";
import { type Entered, propose } from "../actions.ts";
import { type Answer, call } from "../api.ts";
import { ActionButton } from "../components/action-button.tsx";
import { ChoiceField, NumberField, TimeField } from "../components/fields.tsx";
import { counted } from "../format.ts";

/** A topic as the API shows it. */
export type Topic = Answer<"GET /api/topics">[number];

/** A consumer group as the API shows it. */
export type Group = Topic["groups"][number];

interface GroupActionsProps {
  readonly topic: Topic;
  readonly group: Group;
  /** Called when something has changed. */
  done(): void;
}

/** Pause, seek, delete: each through the dialog. */
export function GroupActions(props: GroupActionsProps) {
  const { group } = props.group;
  const pause = props.group.isPaused ? "Resume" : "Pause";
  return (
    <span class="buttons">
      <ActionButton isSmall label={`${pause} ${group}`} onClick={() => proposePause(props)}>
        {pause}
      </ActionButton>
      <ActionButton isSmall label={`Seek ${group}`} onClick={() => proposeSeek(props)}>
        Seek …
      </ActionButton>
      <ActionButton isSmall needs="admin" label={`Delete ${group}`} onClick={() => proposeDelete(props)}>
        Delete …
      </ActionButton>
    </span>
  );
}

function paramsOf({ topic, group }: GroupActionsProps) {
  return { topic: topic.name, group: group.group };
}

function proposePause(props: GroupActionsProps): void {
  const { group, isPaused } = props.group;
  const verb = isPaused ? "resume" : "pause";
  const word = isPaused ? "Resume" : "Pause";
  propose({
    title: `${word} ${group}`,
    text: isPaused
      ? "The group gets messages again."
      : "The group gets no more messages until it is resumed; its lag grows.",
    confirm: word,
    run: async (reason) => {
      await call(`POST /api/topics/:topic/groups/:group/${verb}`, {
        params: paramsOf(props),
        body: { ...(reason && { reason }) },
      });
      props.done();
      return `${group} is ${isPaused ? "running again" : "paused"}.`;
    },
  });
}

function proposeSeek(props: GroupActionsProps): void {
  const { topic, group } = props;
  propose({
    title: `Seek ${group.group}`,
    text: "Everything from there on is delivered again, nothing before.",
    preview: async () =>
      `${counted(group.messages, "message")} to read at present, of ${counted(topic.messages, "message")} in ${topic.name}.`,
    fields: <SeekFields />,
    confirm: "Seek",
    run: async (reason, entered) => {
      const { messages } = await call("POST /api/topics/:topic/groups/:group/seek", {
        params: paramsOf(props),
        body: { ...enteredPlace(entered), ...(reason && { reason }) },
      });
      props.done();
      return `${group.group} has ${counted(messages, "message")} to read.`;
    },
  });
}

function SeekFields() {
  const [kind, setKind] = useState("beginning");
  return (
    <>
      <ChoiceField
        name="kind"
        label="Go to"
        choices={[
          ["beginning", "the beginning"],
          ["end", "the end"],
          ["position", "a position"],
          ["time", "a time"],
        ]}
        initial={kind}
        change={setKind}
      />
      {kind === "position" && <NumberField name="position" label="Position" />}
      {kind === "time" && <TimeField name="time" label="Time" />}
    </>
  );
}

function enteredPlace(entered: Entered) {
  const kind = entered("kind");
  if (kind === "position") return { position: Number(entered("position")) };
  if (kind === "time") return { time: new Date(entered("time")).toISOString() };
  return { to: kind === "end" ? ("end" as const) : ("beginning" as const) };
}

function proposeDelete(props: GroupActionsProps): void {
  const { group, messages } = props.group;
  propose({
    title: `Delete ${group}`,
    text: "The group and its place in the topic disappear; its readers fail from then on.",
    preview: async () => `${counted(messages, "message")} that it has not read would not be delivered to it.`,
    confirm: "Delete",
    isDangerous: true,
    run: async (reason) => {
      await call("DELETE /api/topics/:topic/groups/:group", {
        params: paramsOf(props),
        query: { ...(reason && { reason }) },
      });
      props.done();
      return `${group} is deleted.`;
    },
  });
}
