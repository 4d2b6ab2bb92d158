/** Any value as indented text, never as markup. */
export function Payload({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by key
    <section class="payload" aria-label={label} tabIndex={0}>
      <pre>{text ?? "–"}</pre>
    </section>
  );
}
