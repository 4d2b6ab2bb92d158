import type { ComponentChildren } from "preact";
import { mayAct } from "../session.ts";

interface ActionButtonProps {
  readonly children: ComponentChildren;
  /** The least role that may use it. */
  readonly needs?: "operate" | "admin";
  readonly isDisabled?: boolean;
  readonly isSmall?: boolean;
  readonly label?: string;
  onClick(): void;
}

/** A button that changes something; off for those whose role does not allow it. */
export function ActionButton(props: ActionButtonProps) {
  const { children, needs = "operate", isDisabled = false, isSmall = false, label, onClick } = props;
  const isAllowed = mayAct(needs);
  return (
    <button
      type="button"
      class={`button ${isSmall ? "button-small" : ""}`}
      disabled={isDisabled || !isAllowed}
      title={isAllowed ? undefined : `Needs the role '${needs}'`}
      aria-label={label}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
