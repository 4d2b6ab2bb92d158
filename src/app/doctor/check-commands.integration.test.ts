import { expect, it } from "vitest";
import { commands, openBus } from "../../../tests/kit/commands.ts";
import { setup } from "../../testing/index.ts";
import { Tallyman } from "../tallyman.ts";
import { checkLostCommands } from "./check-commands.ts";

it("finds commands that no worker can get, and takes none that waits, is held or has ended for one", async () => {
  await using t = await setup();
  const tallyman = t.use(await Tallyman.connect({ database: t.url }));
  const bus = openBus(t);
  const [held = "", ...others] = await bus.sendMany("d", commands(4));
  await bus.send("d", "T", { data: {}, runAt: new Date(Date.now() + 3_600_000) });
  await t.database.query("SELECT FROM tallyman.command_bus_claim('d', 2, 60000, 'other', '{}')");
  await t.database.query(
    "UPDATE tallyman.command_bus_command SET status = 'IN_TROUBLESHOOTING_QUEUE' WHERE command_id = $1",
    [others[0]],
  );
  expect(await checkLostCommands(tallyman)).toMatchObject({ status: "ok" });
  await t.database.query("DELETE FROM tallyman.command_bus_lease");
  const finding = await checkLostCommands(tallyman);
  expect(finding).toMatchObject({
    status: "failure",
    message: expect.stringContaining(`${held} of domain 'd'`),
  });
  expect(finding.message).toMatch(/^1 commands /);
});
