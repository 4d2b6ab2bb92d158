-- The database's roles for one Tallyman: what 'tallyman migrate --print-roles' prints, with the name of the schema put in.
--
--   "tallyman_owner" migrates: it owns the schema and its tables.
--   "tallyman_app" works: it sends and handles commands, coordinates, schedules, serves the API. It changes rows, no tables.
--   "tallyman_pipeline" is "tallyman_app" that may also make schemas for runs, which it owns: for producers and indexers.
--   "tallyman_read" looks at everything but access tokens and stored answers.
--
-- Run it in Tallyman's database, after 'tallyman migrate', as a superuser or as the database's owner with CREATEROLE.
-- Running it again is safe. The roles have no passwords yet: \password, or whatever your server uses.
BEGIN;

DO $roles$
DECLARE
  wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['tallyman_owner', 'tallyman_app', 'tallyman_pipeline', 'tallyman_read'] LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
      EXECUTE format('CREATE ROLE %I LOGIN', wanted);
    END IF;
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), wanted);
  END LOOP;
  EXECUTE format('GRANT CREATE ON DATABASE %I TO "tallyman_owner", "tallyman_pipeline"', current_database());
  -- Rows that may be there already are staged in temporary tables.
  EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO "tallyman_pipeline"', current_database());
END $roles$;

GRANT "tallyman_app" TO "tallyman_pipeline";
-- To give away what one owns, and to speak for its new owner, takes membership; it ends below.
GRANT "tallyman_owner", "tallyman_pipeline" TO CURRENT_USER;

-- What is there already changes hands: Tallyman's own schema, and those of its runs.
CREATE SCHEMA IF NOT EXISTS "tallyman";
DO $owners$
DECLARE
  runs name[] := '{}';
  change text;
BEGIN
  IF to_regclass('"tallyman".simulation_run') IS NOT NULL THEN
    runs := ARRAY (SELECT schema_name::name FROM "tallyman".simulation_run);
  END IF;
  FOR change IN
    WITH place AS (
      SELECT n.oid, n.nspname AS schema, n.nspname = ANY (runs) AS is_run,
             CASE WHEN n.nspname = ANY (runs) THEN 'tallyman_pipeline' ELSE 'tallyman_owner' END AS owner
      FROM pg_namespace n WHERE n.nspname = 'tallyman' OR n.nspname = ANY (runs)
    )
    SELECT format('ALTER SCHEMA %I OWNER TO %I', schema, owner) FROM place
    UNION ALL
    SELECT format('ALTER %s %s OWNER TO %I', CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
                  c.oid::regclass, owner)
    FROM place JOIN pg_class c ON c.relnamespace = place.oid
    WHERE c.relkind IN ('r', 'p', 'v')
       -- A column's own sequence goes with its table.
       OR (c.relkind = 'S' AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
                                             AND d.objid = c.oid AND d.deptype IN ('a', 'i')))
    UNION ALL
    SELECT format('ALTER ROUTINE %s OWNER TO %I', f.oid::regprocedure, owner)
    FROM place JOIN pg_proc f ON f.pronamespace = place.oid
    UNION ALL
    SELECT format('GRANT USAGE ON SCHEMA %I TO "tallyman_app", "tallyman_read"', schema) FROM place
    UNION ALL
    SELECT format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO "tallyman_read"', schema) FROM place
    UNION ALL
    SELECT format('GRANT SELECT, INSERT, UPDATE, DELETE%s ON ALL TABLES IN SCHEMA %I TO "tallyman_app"',
                  CASE WHEN is_run THEN ', TRUNCATE' END, schema) FROM place
  LOOP
    EXECUTE change;
  END LOOP;
  IF to_regclass('"tallyman".migration') IS NOT NULL THEN
    REVOKE INSERT, UPDATE, DELETE ON "tallyman".migration FROM "tallyman_app";
  END IF;
  IF to_regclass('"tallyman".access_token') IS NOT NULL THEN
    REVOKE ALL ON "tallyman".access_token, "tallyman".idempotency_key FROM "tallyman_read";
  END IF;
END $owners$;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA "tallyman" TO "tallyman_app";

-- The same for what migrations and runs will add. A run that is indexed anew is emptied before, hence TRUNCATE.
ALTER DEFAULT PRIVILEGES FOR ROLE "tallyman_owner" IN SCHEMA "tallyman"
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO "tallyman_app";
ALTER DEFAULT PRIVILEGES FOR ROLE "tallyman_owner" IN SCHEMA "tallyman" GRANT USAGE ON SEQUENCES TO "tallyman_app";
ALTER DEFAULT PRIVILEGES FOR ROLE "tallyman_owner" IN SCHEMA "tallyman" GRANT SELECT ON TABLES TO "tallyman_read";
ALTER DEFAULT PRIVILEGES FOR ROLE "tallyman_pipeline" GRANT USAGE ON SCHEMAS TO "tallyman_app", "tallyman_read";
ALTER DEFAULT PRIVILEGES FOR ROLE "tallyman_pipeline"
  GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON TABLES TO "tallyman_app";
ALTER DEFAULT PRIVILEGES FOR ROLE "tallyman_pipeline" GRANT SELECT ON TABLES TO "tallyman_read";

REVOKE "tallyman_owner", "tallyman_pipeline" FROM CURRENT_USER;
COMMIT;
