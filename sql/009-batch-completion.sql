-- A batch ends also when the command that was to tell of it exists already, under the id that its creator chose:
-- that command is left as it is. Else no command of the batch could ever be its last.
CREATE OR REPLACE FUNCTION tallyman.command_bus_count(p_batch_ids uuid[], p_completed integer[], p_failed integer[],
  p_canceled integer[], p_troubleshooting integer[])
RETURNS uuid[] LANGUAGE plpgsql SET enable_hashjoin = on AS $$
DECLARE
  done uuid[];
BEGIN
  PERFORM FROM tallyman.command_bus_batch b WHERE b.batch_id = ANY (p_batch_ids)
  ORDER BY b.batch_id FOR NO KEY UPDATE;
  WITH b AS (
    UPDATE tallyman.command_bus_batch b
    SET completed_count = b.completed_count + d.completed,
        failed_count = b.failed_count + d.failed,
        canceled_count = b.canceled_count + d.canceled,
        in_troubleshooting_count = b.in_troubleshooting_count + d.troubleshooting,
        status = CASE WHEN NOT d.is_last THEN b.status WHEN d.has_failures THEN 'COMPLETED_WITH_FAILURES' ELSE 'COMPLETED' END,
        completed_at = CASE WHEN d.is_last THEN clock_timestamp() ELSE b.completed_at END
    FROM (
      SELECT x.*,
             o.completed_at IS NULL AND o.is_sealed
               AND o.completed_count + o.failed_count + o.canceled_count + x.completed + x.failed + x.canceled = o.total_count
               AS is_last,
             o.failed_count + o.canceled_count + x.failed + x.canceled > 0 AS has_failures
      FROM unnest(p_batch_ids, p_completed, p_failed, p_canceled, p_troubleshooting)
           AS x (batch_id, completed, failed, canceled, troubleshooting)
      JOIN tallyman.command_bus_batch o USING (batch_id)
      WHERE o.batch_id = ANY (p_batch_ids)
    ) d
    WHERE b.batch_id = d.batch_id AND b.batch_id = ANY (p_batch_ids)
    RETURNING b.*, d.is_last
  ), a AS (
    INSERT INTO tallyman.command_bus_audit_group (domain, batch_id, event_type, details)
    SELECT b.domain, b.batch_id, 'BATCH_COMPLETED', jsonb_build_object('status', b.status)
    FROM b WHERE b.is_last
  ), c AS (
    INSERT INTO tallyman.command_bus_command AS c (domain, command_id, command_type, correlation_id, reply_to, priority,
      max_attempts, data)
    SELECT b.completion ->> 'domain', (b.completion ->> 'command_id')::uuid, b.completion ->> 'command_type',
           coalesce((b.completion ->> 'correlation_id')::uuid, b.batch_id), b.completion ->> 'reply_to',
           coalesce((b.completion ->> 'priority')::integer, 0), (b.completion ->> 'max_attempts')::integer,
           coalesce(b.completion -> 'data', '{}') || jsonb_build_object('batch', jsonb_build_object(
             'batchId', b.batch_id, 'domain', b.domain, 'name', b.name, 'status', b.status, 'totalCount', b.total_count,
             'completedCount', b.completed_count, 'failedCount', b.failed_count, 'canceledCount', b.canceled_count))
    FROM b WHERE b.is_last AND b.completion IS NOT NULL
    ON CONFLICT (domain, command_id) DO NOTHING
    RETURNING c.id, c.domain, c.priority, c.command_id
  ), q AS (
    INSERT INTO tallyman.command_bus_queue (first_id, priority, domain, command_rows)
    SELECT c.id, c.priority, c.domain, ARRAY[c.id] FROM c
  ), s AS (
    INSERT INTO tallyman.command_bus_audit_group (domain, event_type, first_row, last_row, command_rows, command_ids)
    SELECT c.domain, 'SENT', c.id, c.id, ARRAY[c.id], ARRAY[c.command_id] FROM c
  )
  SELECT array_agg(b.batch_id) INTO done FROM b WHERE b.is_last;
  RETURN coalesce(done, '{}');
END $$;
