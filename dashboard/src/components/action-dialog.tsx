import { useEffect, useRef, useState } from "preact/hooks";
import { type Entered, type Proposal, proposal, tell } from "../actions.ts";
import { messageOf } from "../api.ts";
import { Field } from "./fields.tsx";

/** The one dialog through which everything is changed. */
export function ActionDialog() {
  const asked = proposal.value;
  return asked ? <OpenDialog key={asked.title} asked={asked} /> : null;
}

function close(): void {
  proposal.value = undefined;
}

/** Stays open while it is done: here it is told when it fails. */
function OpenDialog({ asked }: { asked: Proposal }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isRunning, setIsRunning] = useState(false);
  const [error, setError] = useState<string>();
  const preview = usePreview(asked);
  useEffect(() => dialog.current?.showModal(), []);
  const run = async (event: SubmitEvent) => {
    event.preventDefault();
    setIsRunning(true);
    const entered = enteredInto(event.currentTarget as HTMLFormElement);
    try {
      tell("done", await asked.run(entered("reason") || undefined, entered));
      if (proposal.value === asked) close();
    } catch (failure) {
      setError(messageOf(failure));
      setIsRunning(false);
    }
  };
  const keepOpen = (event: Event) => {
    if (isRunning) event.preventDefault();
  };
  // Browsers heed an Esc that comes right after another, whatever the page says.
  const onClose = () => (isRunning ? dialog.current?.showModal() : close());
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="dialog-title" onCancel={keepOpen} onClose={onClose}>
      <form onSubmit={run}>
        <h2 id="dialog-title">{asked.title}</h2>
        <p>{asked.text}</p>
        {preview && (
          <p class="dialog-preview" role="status">
            {preview}
          </p>
        )}
        {asked.fields && <div class="form-grid">{asked.fields}</div>}
        <ReasonField />
        {error && (
          <p class="dialog-error" role="alert">
            {error}
          </p>
        )}
        <Buttons asked={asked} isRunning={isRunning} />
      </form>
    </dialog>
  );
}

function enteredInto(form: HTMLFormElement): Entered {
  const data = new FormData(form);
  return (name) => String(data.get(name) ?? "").trim();
}

function ReasonField() {
  const label = (
    <span>
      Reason <span class="faint">for the audit</span>
    </span>
  );
  return (
    <Field label={label}>
      <input name="reason" maxLength={1_000} autoComplete="off" />
    </Field>
  );
}

function Buttons({ asked, isRunning }: { asked: Proposal; isRunning: boolean }) {
  return (
    <div class="dialog-buttons">
      <button type="button" class="button" disabled={isRunning} onClick={close}>
        Keep as it is
      </button>
      <button
        type="submit"
        class={`button ${asked.isDangerous ? "button-danger" : "button-main"}`}
        disabled={isRunning}
      >
        {isRunning ? "Working …" : asked.confirm}
      </button>
    </div>
  );
}

/** What the proposal says about its extent; undefined when it says nothing. */
function usePreview({ preview }: Proposal): string | undefined {
  const [text, setText] = useState(preview && "Counting …");
  useEffect(() => {
    preview?.().then(setText, (error: unknown) => setText(messageOf(error)));
  }, [preview]);
  return text;
}
