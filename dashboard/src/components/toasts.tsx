import { dismiss, toasts } from "../actions.ts";

/** What came of actions. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text }) => (
        <div key={id} class={`toast toast-${kind}`}>
          <span>{text}</span>
          <button type="button" class="button-plain" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
