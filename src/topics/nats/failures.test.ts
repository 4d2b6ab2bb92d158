import { JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/transport-node";
import { describe, expect, it, vi } from "vitest";
import { TallymanError } from "../../errors/index.ts";
import { isPassing, natsError, persistently } from "./failures.ts";

const noResponders = new errors.NoRespondersError("subject");

describe("natsError", () => {
  it.each([
    ["no answer in time", new errors.TimeoutError()],
    ["nobody to answer", new errors.RequestError("no responders", { cause: noResponders })],
    ["no leader", new JetStreamApiError({ code: 503, err_code: 10008, description: "no leader" })],
    ["a closed connection", new errors.ClosedConnectionError()],
    ["a connection that is closed under a request", new errors.RequestError("connection closed")],
  ])("says that NATS is out of reach: %s", (_name, cause) => {
    expect(natsError(cause)).toMatchObject({ code: "NATS_UNREACHABLE", cause });
    expect(isPassing(natsError(cause))).toBe(isPassing(cause));
  });

  it.each([
    ["a refusal", new JetStreamApiError({ code: 400, err_code: 10071, description: "wrong last sequence" })],
    ["a missing permission", new errors.RequestError("Permissions Violation")],
    ["an error of ours", new TallymanError("TOPIC_GROUP_NOT_FOUND", "gone")],
  ])("leaves alone what no waiting mends: %s", (_name, error) => {
    expect(natsError(error)).toBe(error);
  });

  it("is what ends a repeated operation", async () => {
    const closed = () => Promise.reject(new errors.ClosedConnectionError());
    await expect(persistently(closed)).rejects.toMatchObject({ code: "NATS_UNREACHABLE" });
  });
});

describe("persistently", () => {
  it("gives up after half a minute, however long an attempt takes", async () => {
    let nowMs = 0;
    using _clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const unanswered = () => {
      nowMs += 5_000;
      return Promise.reject(new errors.TimeoutError());
    };
    await expect(persistently(unanswered)).rejects.toMatchObject({ code: "NATS_UNREACHABLE" });
    expect(nowMs).toBe(30_000);
  });
});
