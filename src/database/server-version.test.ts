import { describe, expect, it } from "vitest";
import { refuseOldServer } from "./server-version.ts";

describe("refuseOldServer", () => {
  it.each(["14.13", "9.6.24", "14.2 (Debian 14.2-1)", ""])(
    "refuses %j with the version that is needed",
    (version) => {
      expect(() => refuseOldServer(version)).toThrow(
        expect.objectContaining({
          code: "DATABASE_VERSION_UNSUPPORTED",
          details: { found: version, needed: 15 },
        }),
      );
    },
  );

  it.each(["15.0", "15.18 (Debian 15.18-0+deb12u1)", "18.4", "19beta1"])("takes %j", (version) => {
    expect(() => refuseOldServer(version)).not.toThrow();
  });
});
