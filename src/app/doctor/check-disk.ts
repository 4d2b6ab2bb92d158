import { statfs } from "node:fs/promises";
import type { Tallyman } from "../tallyman.ts";
import { type Finding, failure, ok, warning } from "./finding.ts";

const gigabyte = 1024 ** 3;
const warningBytes = 2 * gigabyte;
const failureBytes = gigabyte / 5;

export async function checkDisk(tallyman: Tallyman): Promise<Finding> {
  const folder = tallyman.embeddedFolder ?? process.cwd();
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  const found = `${(freeBytes / gigabyte).toFixed(1)} GB free at ${folder}`;
  const remedy = "Free some space, or move the folder to a larger disk.";
  if (freeBytes < failureBytes) return failure("disk", found, remedy);
  if (freeBytes < warningBytes) return warning("disk", found, remedy);
  return ok("disk", found);
}
