#!/usr/bin/env node
import { execute } from "./execute.ts";
import { listenForInterruption, stopWithParent } from "./interrupt.ts";

// `tallyman … | head` closes our output; that is no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

listenForInterruption();
stopWithParent();
process.exitCode = await execute(process.argv.slice(2));
// A wait that was interrupted may still hold the event loop.
if (process.exitCode > 128) process.exit();
