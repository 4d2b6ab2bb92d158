import type { ComponentChildren } from "preact";

interface InspectorProps {
  readonly title: string;
  close(): void;
  readonly children: ComponentChildren;
}

/** A sheet at the right that shows one item while its list stays in place. */
export function Inspector({ title, close, children }: InspectorProps) {
  return (
    <aside class="inspector" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="button-plain" data-close aria-label="Close" onClick={close}>
          ×
        </button>
      </header>
      <div class="inspector-body">{children}</div>
    </aside>
  );
}
