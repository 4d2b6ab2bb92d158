import { deliveryCases } from "./delivery-cases.ts";
import { groupCases } from "./group-cases.ts";
import { type ConformanceCase, Stage, type TopicConformanceOptions } from "./harness.ts";
import { losesNothing, rollsBack, survivesCrash } from "./load-cases.ts";
import { settlementCases } from "./settlement-cases.ts";

const messagesDefault = 10_000;

/**
 * What every topic driver must do, as a list of cases for any test runner. What the driver's
 * capabilities leave out is listed as skipped, with the reason in its name.
 *
 * @example
 * ```ts
 * for (const { name, isSkipped, run } of topicConformance({ open, capabilities })) {
 *   it.skipIf(isSkipped)(name, run);
 * }
 * ```
 */
export function topicConformance(options: TopicConformanceOptions): ConformanceCase[] {
  const { capabilities, canCrash = true, messages = messagesDefault } = options;
  const onStage = async (act: (stage: Stage) => Promise<void>) => {
    await using stage = new Stage(await options.open());
    await act(stage);
  };
  const toCase = (name: string, act: (stage: Stage) => Promise<void>, whyNot?: string): ConformanceCase => ({
    name: whyNot === undefined ? name : `${name} (skipped: ${whyNot})`,
    isSkipped: whyNot !== undefined,
    run: () => onStage(act),
  });
  const common = { ...deliveryCases, ...settlementCases, ...groupCases };
  return [
    ...Object.entries(common).map(([name, act]) => toCase(name, act)),
    toCase(
      "takes an ack and a send back when the caller's transaction rolls back",
      rollsBack,
      capabilities.transactionalAck ? undefined : "the driver declares no transactionalAck",
    ),
    toCase(
      "gives the message of a consumer that died with SIGKILL to another",
      survivesCrash,
      canCrash ? undefined : "the harness starts no processes",
    ),
    toCase(`loses none of ${messages} messages with 8 consumers, and none succeeds twice`, (stage) =>
      losesNothing(stage, messages),
    ),
  ];
}
