import { describe, expect, it } from "vitest";
import { TallymanError } from "../errors/index.ts";
import { isAbort, linkedAbort, throwIfAborted } from "./abort.ts";

describe("abort", () => {
  it("knows the abort errors of Tallyman and of Node", () => {
    expect(isAbort(new TallymanError("ABORTED", "x"))).toBe(true);
    expect(isAbort(AbortSignal.abort().reason)).toBe(true);
    expect(isAbort(new TallymanError("TIMED_OUT", "x"))).toBe(false);
    expect(isAbort("AbortError")).toBe(false);
  });

  it("throws only for an aborted signal", () => {
    expect(() => throwIfAborted(AbortSignal.abort())).toThrow(expect.objectContaining({ code: "ABORTED" }));
    expect(() => throwIfAborted(new AbortController().signal)).not.toThrow();
    expect(() => throwIfAborted(undefined)).not.toThrow();
  });

  it("follows the parent, with its reason, until disposed", () => {
    const parent = new AbortController();
    const linked = linkedAbort(parent.signal);
    const disposed = linkedAbort(parent.signal);
    disposed[Symbol.dispose]();
    parent.abort("why");
    expect(linked.signal.reason).toBe("why");
    expect(disposed.signal.aborted).toBe(false);
    expect(linkedAbort(parent.signal).signal.reason).toBe("why");
  });

  it("aborts the child alone", () => {
    const parent = new AbortController();
    const linked = linkedAbort(parent.signal);
    linked.abort();
    expect([linked.signal.aborted, parent.signal.aborted]).toEqual([true, false]);
  });
});
