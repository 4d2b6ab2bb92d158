/**
 * The HTTP API: what operators and workers in other languages use.
 *
 * **Model.** One server per process, on the {@link Tallyman} that it was given; it owns nothing else. One file
 * per resource in `routes/`; every route has a schema for what it takes and for what it answers.
 *
 * **Answers** are `{ "success": true, "data": … }` or `{ "success": false, "error": { "code", "message",
 * "details" } }`, with the status that the errors catalogue has for the code. A wrong or missing parameter is
 * 400 and names the field; an unknown path is 404 in the same form. `/healthz`, `/readyz` and `/metrics` are for
 * machines that watch.
 *
 * **Access.** Only loopback, until there are tokens. Pages of other web sites are refused, by their Origin and by
 * the name under which they reached us, for a browser on this machine is on loopback too.
 *
 * **Failure.** A request that fails answers with its code; what nobody foresaw is logged and answered without
 * its text. On stop, running requests end first.
 */
export { createServer, HttpServer, type HttpServerOptions } from "./http-server.ts";
