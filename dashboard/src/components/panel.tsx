import type { ComponentChildren } from "preact";

interface PanelProps {
  readonly title: ComponentChildren;
  /** Beside the title: a count or a hint. */
  readonly note?: ComponentChildren;
  /** Buttons and filters at the right. */
  readonly actions?: ComponentChildren;
  readonly class?: string;
  /** By which links lead to it. */
  readonly id?: string;
  readonly children: ComponentChildren;
}

/** A titled part of a screen. */
export function Panel({ title, note, actions, class: more = "", id, children }: PanelProps) {
  return (
    <section class={`panel ${more}`} id={id}>
      <header class="panel-head">
        <h2>{title}</h2>
        {note !== undefined && <span class="panel-note">{note}</span>}
        {actions && <div class="panel-actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

/** The head of a screen: what it is, and what can be done with all of it. */
export function ScreenHead({ title, children }: { title: ComponentChildren; children?: ComponentChildren }) {
  return (
    <div class="screen-head">
      <h1>{title}</h1>
      {children && <div class="screen-actions">{children}</div>}
    </div>
  );
}
