import { randomBytes } from "node:crypto";
import pg from "pg";
import { type Database, rolesScript } from "../../src/database/index.ts";
import type { TestContext } from "../../src/testing/index.ts";

const roles = ["owner", "app", "pipeline", "read"] as const;

/** What a database role is for. */
export type DatabaseRole = (typeof roles)[number];

/**
 * A schema whose name no other test has, for roles belong to the whole server; at the end they are dropped.
 * Nothing is made yet: the schema by whoever migrates, the roles by {@link applyRoles}.
 */
export function ownSchema(t: TestContext): string {
  const schema = `roles_${randomBytes(6).toString("hex")}`;
  t.use({ [Symbol.asyncDispose]: () => dropRoles(t.url, schema) });
  return schema;
}

/** Runs the printed SQL as an administrator, and gives each role a password. */
export async function applyRoles(url: string, schema: string): Promise<void> {
  await administer(url, await rolesScript(schema));
  for (const role of roles) await administer(url, `ALTER ROLE ${schema}_${role} PASSWORD '${role}'`);
}

/** The connection string of a role. */
export function urlOf(t: TestContext, schema: string, role: DatabaseRole): string {
  const url = new URL(t.url);
  url.username = `${schema}_${role}`;
  url.password = role;
  return url.toString();
}

/** The test's context as a role sees it. */
export async function contextOf(t: TestContext, schema: string, role: DatabaseRole): Promise<TestContext> {
  const url = urlOf(t, schema, role);
  const database: Database = await t.connect({ url, schema });
  return { ...t, url, database };
}

/** Runs statements in the test's database as the role of a connection string. */
export async function administer(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

/** A role that owns the database and may make roles, as a managed server gives it to its customers; its connection string. */
export async function createAdministrator(t: TestContext, schema: string): Promise<string> {
  const name = `${schema}_administrator`;
  const url = new URL(t.url);
  await administer(t.url, `CREATE ROLE ${name} LOGIN CREATEROLE PASSWORD 'admin'`);
  await administer(t.url, `ALTER DATABASE ${url.pathname.slice(1)} OWNER TO ${name}`);
  const drop = `REASSIGN OWNED BY ${name} TO CURRENT_USER; DROP OWNED BY ${name}; DROP ROLE ${name}`;
  t.use({ [Symbol.asyncDispose]: () => administer(t.url, drop) });
  url.username = name;
  url.password = "admin";
  return url.toString();
}

async function dropRoles(url: string, schema: string): Promise<void> {
  for (const role of roles) {
    const name = `${schema}_${role}`;
    await administer(
      url,
      `DO $$ BEGIN
         IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${name}') THEN
           DROP OWNED BY ${name} CASCADE;
           DROP ROLE ${name};
         END IF;
       END $$`,
    );
  }
}
