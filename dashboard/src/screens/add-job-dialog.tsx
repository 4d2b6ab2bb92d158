import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { tell } from "../actions.ts";
import { call, messageOf } from "../api.ts";
import type { Job } from "./job-panel.tsx";

const secondMs = 1_000;

/** Asks for a job that sends one command, and adds it. */
export function AddJobDialog({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [kind, setKind] = useState("every");
  const [error, setError] = useState<string>();
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    try {
      const key = await addJob(new FormData(event.currentTarget as HTMLFormElement));
      tell("done", `${key} is scheduled.`);
      close();
    } catch (failure) {
      setError(messageOf(failure));
    }
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="add-job" onClose={close}>
      <form onSubmit={submit}>
        <h2 id="add-job">Add job</h2>
        <div class="form-grid">
          <Field label="Key" isWide>
            <input name="key" {...plain} />
          </Field>
          <label class="field">
            Fires
            <select name="kind" value={kind} onChange={({ currentTarget }) => setKind(currentTarget.value)}>
              <option value="every">every so many seconds</option>
              <option value="cron">by cron</option>
              <option value="at">once</option>
            </select>
          </label>
          <ScheduleField kind={kind} />
          <CommandFields />
        </div>
        {error && (
          <p class="dialog-error" role="alert">
            {error}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" class="button" onClick={close}>
            Keep as it is
          </button>
          <button type="submit" class="button button-main">
            Add job
          </button>
        </div>
      </form>
    </dialog>
  );
}

const plain = { required: true, autoComplete: "off" };

function CommandFields() {
  return (
    <>
      <Field label="Domain">
        <input name="domain" {...plain} />
      </Field>
      <Field label="Command type">
        <input name="commandType" {...plain} />
      </Field>
      <Field label="Data as JSON" isWide>
        <input name="data" defaultValue="{}" {...plain} />
      </Field>
    </>
  );
}

function ScheduleField({ kind }: { kind: string }) {
  if (kind === "every")
    return (
      <Field label="Seconds">
        <input name="seconds" type="number" min={1} defaultValue="60" {...plain} />
      </Field>
    );
  if (kind === "at")
    return (
      <Field label="Time">
        <input name="at" type="datetime-local" {...plain} />
      </Field>
    );
  return (
    <>
      <Field label="Cron">
        <input name="cron" defaultValue="0 6 * * *" {...plain} />
      </Field>
      <Field label="Time zone">
        <input name="timeZone" defaultValue="UTC" {...plain} />
      </Field>
    </>
  );
}

interface FieldProps {
  readonly label: string;
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

function Field({ label, isWide = false, children }: FieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label class={`field ${isWide ? "field-wide" : ""}`}>
      {label}
      {children}
    </label>
  );
}

async function addJob(form: FormData): Promise<string> {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const { key } = await call("POST /api/jobs", {
    body: {
      key: text("key"),
      schedule: scheduleOf(text),
      command: { domain: text("domain"), commandType: text("commandType"), data: parseData(text("data")) },
    },
  });
  return key;
}

function scheduleOf(text: (name: string) => string): Job["schedule"] {
  if (text("kind") === "every") return { everyMs: Number(text("seconds")) * secondMs };
  if (text("kind") === "at") return { at: new Date(text("at")).toISOString() };
  return { cron: text("cron"), timeZone: text("timeZone") };
}

function parseData(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("The data is not valid JSON.");
  }
}
