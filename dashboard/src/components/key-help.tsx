import { useEffect, useRef } from "preact/hooks";
import { isHelpShown, keys } from "../keyboard.ts";

/** The list of keys. */
export function KeyHelp() {
  return isHelpShown.value ? <OpenHelp /> : null;
}

function hide(): void {
  isHelpShown.value = false;
}

function OpenHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="keys-title" onClose={hide}>
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div class="dialog-buttons">
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}
