#!/usr/bin/env node
import { run } from "./execute.ts";

process.exitCode = await run(process.argv.slice(2));
