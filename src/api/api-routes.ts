import type { ContractOf } from "./route.ts";
import { batchRoutes } from "./routes/batches.ts";
import { commandRoutes } from "./routes/commands.ts";
import { deadLetterRoutes } from "./routes/dead-letters.ts";
import { domainRoutes } from "./routes/domains.ts";
import { jobRoutes } from "./routes/jobs.ts";
import { operatorRoutes } from "./routes/operators.ts";
import { overviewRoutes } from "./routes/overview.ts";
import { runRoutes } from "./routes/runs.ts";
import { schedulerRoutes } from "./routes/scheduler.ts";
import { serviceRoutes } from "./routes/services.ts";
import { topicRoutes } from "./routes/topics.ts";
import { troubleshootingRoutes } from "./routes/troubleshooting.ts";
import { worldRoutes } from "./routes/world.ts";

/** Every route, by method and path. */
export const apiRoutes = {
  ...overviewRoutes,
  ...commandRoutes,
  ...batchRoutes,
  ...troubleshootingRoutes,
  ...domainRoutes,
  ...schedulerRoutes,
  ...jobRoutes,
  ...topicRoutes,
  ...deadLetterRoutes,
  ...serviceRoutes,
  ...runRoutes,
  ...worldRoutes,
  ...operatorRoutes,
};

/** What each route takes and gives. */
export type Api = ContractOf<typeof apiRoutes>;
