import type { ComponentChildren } from "preact";
import { mayAct } from "../session.ts";

interface ActionButtonProps {
  readonly children: ComponentChildren;
  readonly role?: "operate" | "admin";
  readonly isDisabled?: boolean;
  readonly isSmall?: boolean;
  readonly label?: string;
  onClick(): void;
}

/** A button that changes something; off for those whose role does not allow it. */
export function ActionButton(props: ActionButtonProps) {
  const { children, role = "operate", isDisabled = false, isSmall = false, label, onClick } = props;
  const isAllowed = mayAct(role);
  return (
    <button
      type="button"
      class={`button ${isSmall ? "button-small" : ""}`}
      disabled={isDisabled || !isAllowed}
      title={isAllowed ? undefined : `Needs the role '${role}'`}
      aria-label={label}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
