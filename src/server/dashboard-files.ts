import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";

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

/** Serves the dashboard's files, which are few and are kept in memory: a path that is none of them is unknown. */
export async function serveDashboard(app: FastifyInstance): Promise<void> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of names.filter((each) => each.isFile())) {
    const file = join(entry.parentPath, entry.name);
    const content = await readFile(file);
    const path = `/${relative(folder, file).split(sep).join("/")}`;
    const type = types[extname(entry.name)] ?? "application/octet-stream";
    // Names of assets change with their content.
    const cache = path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache";
    app.get(path === "/index.html" ? "/" : path, async (_request, reply) =>
      reply.type(type).header("cache-control", cache).send(content),
    );
  }
}
