import { build } from "vite";
import { launchChromium } from "./chromium.ts";

/** Builds the dashboard that the tests look at, and unpacks the browser before they compete for it. */
export default async function globalSetup(): Promise<void> {
  await build({ root: "dashboard", configFile: "dashboard/vite.config.ts", logLevel: "warn" });
  await (await launchChromium()).close();
}
