import type { ComponentChildren } from "preact";
import { ApiError } from "../../../src/client/index.ts";
import { messageOf } from "../api.ts";

/** Where data will be. */
export function Loading() {
  return (
    <div class="state" role="status">
      <span class="spinner" aria-hidden="true" />
      Loading …
    </div>
  );
}

/** Nothing to show, and what that means. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <strong>{title}</strong>
      {children && <span>{children}</span>}
    </div>
  );
}

/** What went wrong, and a way to try again. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const isForbidden = error instanceof ApiError && error.code === "ROLE_INSUFFICIENT";
  return (
    <div class="state state-failed" role="alert">
      <strong>{isForbidden ? "Not for your role" : "This could not be loaded"}</strong>
      <span>{messageOf(error)}</span>
      {error instanceof ApiError && <code>{error.code}</code>}
      {retry && !isForbidden && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Says above older data that it is old, for nobody would see it. */
export function NotRefreshed({ error, retry }: { error: unknown; retry: () => void }) {
  if (error === undefined) return null;
  return (
    <div class="not-refreshed" role="alert">
      <strong>This could not be refreshed</strong>
      <span>{messageOf(error)}</span>
      <button type="button" class="button button-small" onClick={retry}>
        Try again
      </button>
    </div>
  );
}

interface LoadedProps<T> {
  readonly of: { readonly data: T | undefined; readonly error: unknown; reload(): void };
  readonly children: (data: T) => ComponentChildren;
}

/** Shows data when it is there, and whether it is old; before that, how it stands with it. */
export function WhenLoaded<T>({ of: { data, error, reload }, children }: LoadedProps<T>) {
  if (data !== undefined)
    return (
      <>
        <NotRefreshed error={error} retry={reload} />
        {children(data)}
      </>
    );
  if (error !== undefined) return <Failure error={error} retry={reload} />;
  return <Loading />;
}
