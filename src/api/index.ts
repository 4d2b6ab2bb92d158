/**
 * The API: everything that can be asked of Tallyman from outside, as one table.
 *
 * **Model.** A {@link Route} has a key (`POST /api/tsq/retry`), a role, schemas of what it takes and gives, and a
 * function. The HTTP server serves the table, the OpenAPI document and the typed client are read off it, and the
 * command line calls it, over HTTP or in its own process. A route says nothing about HTTP beyond its key.
 *
 * **Actions.** What changes something for an operator is an {@link action}: it happens in one transaction with the
 * row that says who did it, to what, how much and why. The protocol of scheduler workers and coordinators
 * (register, heartbeat, assign, release) and the taking of replies are not actions.
 *
 * **Adding a route**: write it in the file of its resource in `routes/`, with a row in the tests' table of roles.
 */
export { type Api, apiRoutes } from "./api-routes.ts";
export { forwardedHeader } from "./assign-segments.ts";
export { LocalCaller, type LocalCallerOptions } from "./local-caller.ts";
export { type Attention, readOverview } from "./overview.ts";
export {
  closed,
  keyLettersMax,
  nothing,
  type OverviewSample,
  type Route,
  type RouteContext,
  type RouteRequest,
  type RouteSpec,
} from "./route.ts";
export { compileValidator, validationError } from "./validate.ts";
