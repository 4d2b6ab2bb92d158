/**
 * Makes the tables: the product's, and those that children write to outside of them, which have no keys, so that
 * whatever is done twice shows. Argument: where the database is.
 */
import { Database, migrate } from "../../src/database/index.ts";

const effectTables = `
  CREATE SCHEMA chaos;
  CREATE TABLE chaos.effect (domain text, command_id uuid, doer text, at timestamptz DEFAULT clock_timestamp());
  CREATE TABLE chaos.attempt (domain text, command_id uuid, doer text, at timestamptz DEFAULT clock_timestamp());
  CREATE TABLE chaos.seen (run_id text, tick bigint, doer text, at timestamptz DEFAULT clock_timestamp());`;

await using database = await Database.connect({ url: process.argv[2] ?? "", listenUrl: null });
await migrate(database);
await database.query(effectTables);
