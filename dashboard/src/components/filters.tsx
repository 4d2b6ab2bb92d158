import { search, setSearch } from "../router.ts";

interface FieldProps {
  readonly name: string;
  readonly label: string;
  /** The one that `/` goes to. */
  readonly isFirst?: boolean;
}

/** A text filter that lives in the address. */
export function TextFilter({ name, label, isFirst = false }: FieldProps) {
  return (
    <label class="filter">
      <span>{label}</span>
      <input
        type="search"
        name={name}
        value={search.value.get(name) ?? ""}
        data-filter={isFirst || undefined}
        autoComplete="off"
        onChange={({ currentTarget }) => setSearch({ [name]: currentTarget.value.trim() })}
      />
    </label>
  );
}

/** A choice that lives in the address; the empty one stands for all. */
export function ChoiceFilter({
  name,
  label,
  choices,
  isFirst = false,
}: FieldProps & { choices: readonly (readonly [value: string, text: string])[] }) {
  return (
    <label class="filter">
      <span>{label}</span>
      <select
        name={name}
        value={search.value.get(name) ?? ""}
        data-filter={isFirst || undefined}
        onChange={({ currentTarget }) => setSearch({ [name]: currentTarget.value })}
      >
        <option value="">All</option>
        {choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
