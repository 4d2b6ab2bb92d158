import { type Finding, failure, ok } from "./finding.ts";

const versionMin = [20, 19] as const;

export function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isNewEnough = major > versionMin[0] || (major === versionMin[0] && minor >= versionMin[1]);
  const found = `Node ${process.versions.node}`;
  if (isNewEnough) return ok("node", found);
  return failure("node", `${found} is too old`, `Install Node ${versionMin.join(".")} or newer.`);
}
