import type { ComponentChildren } from "preact";

interface FieldProps {
  readonly label: ComponentChildren;
  /** Takes a line of its own. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

/** A field of a form under its label. */
export function Field({ label, isWide = false, children }: FieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label class={`field ${isWide ? "field-wide" : ""}`}>
      {label}
      {children}
    </label>
  );
}

interface InputFieldProps {
  readonly name: string;
  readonly label: string;
  readonly initial?: string | number;
  readonly isWide?: boolean;
  readonly isOptional?: boolean;
}

function plain({ name, initial = "", isOptional = false }: InputFieldProps) {
  return { name, defaultValue: initial, required: !isOptional, autoComplete: "off" };
}

/** A field for a line of text. */
export function TextField(props: InputFieldProps) {
  return (
    <Field {...props}>
      <input {...plain(props)} />
    </Field>
  );
}

/** A field for a number that is not negative. */
export function NumberField(props: InputFieldProps) {
  return (
    <Field {...props}>
      <input type="number" step="any" min={0} {...plain(props)} />
    </Field>
  );
}

/** A field for a moment, in the viewer's zone. */
export function TimeField(props: InputFieldProps) {
  return (
    <Field {...props}>
      <input type="datetime-local" step="1" {...plain(props)} />
    </Field>
  );
}

interface ChoiceFieldProps {
  readonly name: string;
  readonly label: string;
  readonly choices: readonly (readonly [value: string, text: string])[];
  readonly initial: string;
  /** Told of each choice, for forms that change with it. */
  readonly change?: (value: string) => void;
}

/** A field with a few choices. */
export function ChoiceField({ name, label, choices, initial, change }: ChoiceFieldProps) {
  return (
    <Field label={label}>
      <select name={name} onChange={({ currentTarget }) => change?.(currentTarget.value)}>
        {choices.map(([value, text]) => (
          <option key={value} value={value} selected={value === initial}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}
