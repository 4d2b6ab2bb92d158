/** What one check found. */
export interface Finding {
  /** Name of the check. */
  readonly check: string;
  readonly status: "ok" | "warning" | "failure";
  /** What was found, with its figures. */
  readonly message: string;
  /** What to do about it; present unless all is well. */
  readonly remedy?: string;
}

/** All is well. */
export function ok(check: string, message: string): Finding {
  return { check, status: "ok", message };
}

/** Works now, but a person should look. */
export function warning(check: string, message: string, remedy: string): Finding {
  return { check, status: "warning", message, remedy };
}

/** Does not work. */
export function failure(check: string, message: string, remedy: string): Finding {
  return { check, status: "failure", message, remedy };
}
