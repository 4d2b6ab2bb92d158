import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { TallymanError } from "../../errors/index.ts";

/** The system user that the server runs as; undefined means: whoever runs this process. */
export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root, so root hands the server to one of these, in this order. */
const unprivilegedNames = ["postgres", "nobody"];

const run = promisify(execFile);

/** Who must run the server: an unprivileged user when we are root, ourselves otherwise. */
export async function serverUser(): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of unprivilegedNames) {
    const user = await lookUp(name);
    if (user) return user;
  }
  throw new TallymanError(
    "EMBEDDED_START_FAILED",
    `PostgreSQL refuses to run as root and no unprivileged user (${unprivilegedNames.join(", ")}) exists. Run as another user, or set DATABASE_URL.`,
  );
}

async function lookUp(name: string): Promise<ServerUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run("id", ["-u", name]), run("id", ["-g", name])]);
    return { name, uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

/** Whether `user` may pass through every existing folder on the way to `path`. */
export async function canReach(path: string, user: ServerUser): Promise<boolean> {
  for (let folder = path; ; folder = dirname(folder)) {
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() && !mayTraverse(found, user)) return false;
    if (folder === dirname(folder)) return true;
  }
}

function mayTraverse(folder: { mode: number; uid: number; gid: number }, user: ServerUser): boolean {
  if (folder.uid === user.uid) return (folder.mode & 0o100) !== 0;
  if (folder.gid === user.gid) return (folder.mode & 0o010) !== 0;
  return (folder.mode & 0o001) !== 0;
}
