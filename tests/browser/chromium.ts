import { existsSync, mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import packaged from "@sparticuz/chromium";
import { type Browser, chromium } from "playwright-core";

const debian = "/usr/bin/chromium";
const launchMs = 120_000;

/** Containers have a small /dev/shm, and root can't use the sandbox. */
const launchArguments = ["--disable-dev-shm-usage", "--no-sandbox", "--font-render-hinting=none"];

/** Starts a Chromium: the one that PLAYWRIGHT_CHROMIUM names, Debian's, or the one that npm has installed. */
export async function launchChromium(): Promise<Browser> {
  const executablePath = await chromiumPath();
  return chromium.launch({ executablePath, args: launchArguments, timeout: launchMs });
}

async function chromiumPath(): Promise<string> {
  const given = process.env.PLAYWRIGHT_CHROMIUM;
  if (given) return given;
  return existsSync(debian) ? debian : unpackedPath();
}

/** The package unpacks itself into the folder for temporary files; each user gets one, as files there are private. */
async function unpackedPath(): Promise<string> {
  const before = process.env.TMPDIR;
  const folder = join(tmpdir(), `tallyman-chromium-${userInfo().uid}`);
  mkdirSync(folder, { recursive: true });
  process.env.TMPDIR = folder;
  try {
    return await packaged.executablePath();
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}
