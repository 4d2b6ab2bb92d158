import { didYouMean, TallymanError } from "../../errors/index.ts";

/** Types by class name. Not shared between processes or managers: each has the ones that it was given. */
export class TypeRegistry<Type> {
  readonly #kind: string;
  readonly #types = new Map<string, Type>();

  /** @param kind what the types are of, for messages: service, resource */
  constructor(kind: string) {
    this.#kind = kind;
  }

  /** All class names, in the order of their registration. */
  get classNames(): readonly string[] {
    return [...this.#types.keys()];
  }

  /** The type of this class, or undefined. */
  find(className: string): Type | undefined {
    return this.#types.get(className);
  }

  /** What to say about a class that is not there: the nearest name, and all that there are. */
  unknown(className: string): string {
    const known = this.classNames;
    if (known.length === 0) return `unknown ${this.#kind} class '${className}'. None is registered.`;
    const hint = didYouMean(className, known);
    const all = hint.startsWith("Known") ? "" : ` Known: ${known.join(", ")}.`;
    return `unknown ${this.#kind} class '${className}'. ${hint}${all}`;
  }

  /** @throws TallymanError INVALID_STATE for a name that is taken, INVALID_OPTION for one that is none */
  protected add(className: string, type: Type): void {
    if (!/^[A-Za-z]\w*$/.test(className)) {
      throw new TallymanError(
        "INVALID_OPTION",
        `'${className}' is no class name: use letters, digits and '_', beginning with a letter.`,
        { details: { className } },
      );
    }
    if (this.#types.has(className)) {
      throw new TallymanError(
        "INVALID_STATE",
        `There is a ${this.#kind} class '${className}' already. Give yours another name.`,
        { details: { className } },
      );
    }
    this.#types.set(className, type);
  }
}
