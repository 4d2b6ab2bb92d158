/**
 * Named places where a test may end a child process with SIGKILL, as a power cut would: no handler
 * runs, nothing is flushed. Armed only by that child's environment or its own call; otherwise a look at an
 * empty map.
 */
const armed = parseArmed(process.env.TALLYMAN_CRASH_AT);

/** Ends the process here when a test armed this point (`TALLYMAN_CRASH_AT=name` or `name:3`, the third pass). */
export function crashPoint(name: string): void {
  if (armed.size === 0) return;
  const passes = armed.get(name);
  if (passes === undefined) return;
  if (passes > 1) armed.set(name, passes - 1);
  else process.kill(process.pid, "SIGKILL");
}

/** Arms points of this process, as its environment does when it starts: `name`, or `name:3` for the third pass. */
export function armCrashPoints(text: string): void {
  for (const [name, passes] of parseArmed(text)) armed.set(name, passes);
}

function parseArmed(text = ""): Map<string, number> {
  const points = text.split(",").filter((point) => point !== "");
  return new Map(
    points.map((point) => {
      const [name = "", passes = "1"] = point.split(":");
      return [name, Number(passes)];
    }),
  );
}
