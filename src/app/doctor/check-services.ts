import { ServiceControl } from "../services/index.ts";
import type { Tallyman } from "../tallyman.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";

/** Does everything run that should? */
export async function checkServices({ database }: Tallyman): Promise<Finding> {
  const managers = await new ServiceControl(database).list();
  const alive = managers.filter(({ isLost }) => !isLost);
  const lost = managers.filter(({ isLost }) => isLost).map(({ name }) => name);
  const services = alive.flatMap(({ name: manager, services }) =>
    services.map((service) => ({ ...service, manager })),
  );
  const running = services.filter(({ state }) => state === "RUNNING").length;
  const places = alive.length === 1 ? "1 process" : `${alive.length} processes`;
  const found = `${running} of ${services.length} services run, in ${places}`;
  const failed = services.filter(({ state }) => state === "ERROR");
  if (failed.length > 0) {
    const reasons = failed.map(
      ({ name, manager, error }) => `${name} on ${manager}: ${error ?? "no reason"}`,
    );
    return failure(
      "services",
      `${found}; in ERROR: ${reasons.join("; ")}`,
      "Remove the cause, then 'tallyman service restart <name>'.",
    );
  }
  if (lost.length > 0) {
    return warning(
      "services",
      `${found}; silent: ${lost.join(", ")}`,
      "Start it again with 'tallyman up' if it is gone; it is forgotten after a day.",
    );
  }
  return ok("services", found);
}
