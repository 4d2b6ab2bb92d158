import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { TallymanError } from "../errors/index.ts";

/** Where the build puts the dashboard; seen from the sources and from the built package alike. */
const folder = fileURLToPath(new URL("../../dist/dashboard/", import.meta.url));

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** Gives a browser the dashboard's page; false when the request is not one for a page. */
export type SendPage = (request: FastifyRequest, reply: FastifyReply) => boolean;

/**
 * Serves the dashboard's files, which are few and are kept in memory. The dashboard's screens have addresses of their
 * own, all of which are the one page: what is returned sends it in place of an unknown path.
 */
export async function serveDashboard(app: FastifyInstance): Promise<SendPage> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  let page: Buffer | undefined;
  for (const entry of names.filter((each) => each.isFile())) {
    const file = join(entry.parentPath, entry.name);
    const content = await readFile(file);
    const path = `/${relative(folder, file).split(sep).join("/")}`;
    if (path === "/index.html") page = content;
    const type = types[extname(entry.name)] ?? "application/octet-stream";
    // Names of assets change with their content.
    const cache = path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache";
    app.get(path === "/index.html" ? "/" : path, async (_request, reply) =>
      reply.type(type).header("cache-control", cache).send(content),
    );
  }
  return (request, reply) => {
    if (!isForPage(request)) return false;
    if (!page) throw notBuilt();
    void reply.type("text/html; charset=utf-8").header("cache-control", "no-cache").send(page);
    return true;
  };
}

function notBuilt(): TallymanError {
  return new TallymanError(
    "ROUTE_NOT_FOUND",
    "The dashboard is not built in this copy of Tallyman: run 'npm run build:dashboard' there, and start again. The API works without.",
  );
}

/** Programs that lose their way in the API get an error, browsers the page. */
function isForPage({ method, url, headers }: FastifyRequest): boolean {
  const isApi = /^\/(api|assets)(\/|$|\?)/.test(url);
  return method === "GET" && !isApi && (headers.accept ?? "").includes("text/html");
}
