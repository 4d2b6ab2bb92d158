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
          <Field name="key" label="Key" isWide />
          <label class="field">
            Fires
            <select name="kind" value={kind} onChange={({ currentTarget }) => setKind(currentTarget.value)}>
              <option value="every">every so many seconds</option>
              <option value="cron">by cron</option>
              <option value="at">once</option>
            </select>
          </label>
          <ScheduleField kind={kind} />
          <Field name="domain" label="Domain" />
          <Field name="commandType" label="Command type" />
          <Field name="data" label="Data as JSON" value="{}" isWide />
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

function ScheduleField({ kind }: { kind: string }) {
  if (kind === "every") return <Field name="seconds" label="Seconds" type="number" value="60" />;
  if (kind === "at") return <Field name="at" label="Time" type="datetime-local" />;
  return (
    <>
      <Field name="cron" label="Cron" value="0 6 * * *" />
      <Field name="timeZone" label="Time zone" value="UTC" />
    </>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly type?: string;
  readonly value?: string;
  readonly isWide?: boolean;
}

function Field({ name, label, type = "text", value = "", isWide = false }: FieldProps) {
  return (
    <label class={`field ${isWide ? "field-wide" : ""}`}>
      {label}
      <input name={name} type={type} defaultValue={value} required autoComplete="off" />
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
