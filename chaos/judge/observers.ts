import type pg from "pg";

/** The trigger that writes down each change of a leader's lease and of a segment, and which process made it. */
const observers = `
  CREATE SCHEMA judge;
  CREATE TABLE judge.lease_log (id bigserial PRIMARY KEY, epoch bigint, holder uuid, writer text);
  CREATE FUNCTION judge.log_lease() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO judge.lease_log (epoch, holder, writer) VALUES (new.epoch, new.holder, current_setting('application_name'));
    RETURN NULL;
  END $$;
  CREATE TRIGGER judge_lease AFTER UPDATE ON tallyman.scheduler_leader_lease
    FOR EACH ROW EXECUTE FUNCTION judge.log_lease();
  CREATE TABLE judge.segment_log (id bigserial PRIMARY KEY, segment_id int, old_epoch bigint, epoch bigint, worker_id text,
    leader_epoch bigint, lease_epoch bigint, writer text);
  CREATE FUNCTION judge.log_segment() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO judge.segment_log (segment_id, old_epoch, epoch, worker_id, leader_epoch, lease_epoch, writer)
    VALUES (new.segment_id, old.epoch, new.epoch, new.worker_id, new.leader_epoch,
      (SELECT max(l.epoch) FROM tallyman.scheduler_leader_lease l), current_setting('application_name'));
    RETURN NULL;
  END $$;
  CREATE TRIGGER judge_segment AFTER UPDATE ON tallyman.scheduler_segment
    FOR EACH ROW EXECUTE FUNCTION judge.log_segment();`;

/** Puts the judge's observers into the database, before anything happens there. */
export async function installObservers(client: pg.Client): Promise<void> {
  await client.query(observers);
}
