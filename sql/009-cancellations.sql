-- A cancellation is carried out by who asked for it; maintenance goes on with one whose process seems to have died.
-- Before, maintenance could overtake the caller, who was then told that nothing had been cancelled.
CREATE OR REPLACE FUNCTION tallyman.command_bus_maintain(p_leases_max integer, p_lost_leases_max integer,
  p_batches_max integer)
RETURNS TABLE (reclaimed integer, completed_batches uuid[], canceled_batches uuid[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  result record;
  canceling uuid[];
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended('tallyman.command_bus_maintain', 0)) THEN
    RETURN;
  END IF;
  SELECT * INTO result FROM tallyman.command_bus_reclaim(p_leases_max, p_lost_leases_max);
  UPDATE tallyman.command_bus_batch b SET canceled_at = clock_timestamp(), canceled_by = 'expiry', is_sealed = true
  WHERE b.batch_id = ANY (ARRAY (
    SELECT e.batch_id FROM tallyman.command_bus_batch e
    WHERE e.status IN ('PENDING', 'IN_PROGRESS') AND e.expires_at <= clock_timestamp() AND e.canceled_at IS NULL
    ORDER BY e.batch_id LIMIT p_batches_max FOR NO KEY UPDATE SKIP LOCKED));
  SELECT array_agg(b.batch_id) INTO canceling FROM tallyman.command_bus_batch b
  WHERE b.status IN ('PENDING', 'IN_PROGRESS')
    AND (b.canceled_by = 'expiry' OR b.canceled_at < clock_timestamp() - interval '10 seconds');
  RETURN QUERY SELECT coalesce(result.reclaimed, 0), coalesce(result.completed_batches, '{}'), coalesce(canceling, '{}');
END $$;
