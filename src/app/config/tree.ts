/** A mapping of the configuration before it is validated. */
export type Tree = Readonly<Record<string, unknown>>;

/** Where a value stands: keys from the top of the file, and indexes of lists. */
export type Path = readonly PropertyKey[];

export function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The entries of a mapping; none when the value is something else. */
export function entriesOf(value: unknown): [string, unknown][] {
  return isTree(value) ? Object.entries(value) : [];
}

/** The value at a path, or undefined when the way there does not exist. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((node, key) => {
    const present = typeof node === "object" && node !== null && Object.hasOwn(node, key);
    return present ? (node as Record<PropertyKey, unknown>)[key] : undefined;
  }, value);
}

/** A copy of the tree with one value set; the mappings on the way are made when they are missing. */
export function withValue(tree: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const base = isTree(tree) ? tree : {};
  return { ...base, [key]: withValue(base[key], rest, value) };
}

/** A copy of the tree without the value at a path. */
export function withoutValue(tree: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined || !isTree(tree) || !Object.hasOwn(tree, key)) return tree;
  if (rest.length > 0) return { ...tree, [key]: withoutValue(tree[key], rest) };
  return Object.fromEntries(Object.entries(tree).filter(([name]) => name !== key));
}

/** Freezes a value and everything beneath it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

/** A mapping with the same keys and other values. */
export function mapEntries<T, R>(
  record: Readonly<Record<string, T>>,
  map: (value: T, key: string) => R,
): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}
