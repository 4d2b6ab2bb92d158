/** Migrates the database of DATABASE_URL and prints the names of what this process applied. */
import { Database, migrate } from "../../src/database/index.ts";

const database = await Database.connect({ url: process.env.DATABASE_URL ?? "", listenUrl: null });
const { applied } = await migrate(database);
await database.close();
process.stdout.write(`${JSON.stringify(applied)}\n`);
