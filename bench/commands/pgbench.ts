/** Commands that one claim asks for: as many as a worker settles at once. */
export const groupSize = 1_000;

/** What a worker's claims and groups of outcomes cost the server alone: the same functions, called by pgbench. */
export const drainScript = `
SELECT coalesce(array_agg(id), '{}')::text AS ids, coalesce(array_agg(delivery), '{}')::text AS deliveries, sum(length(data::text)) AS bytes FROM tallyman.command_bus_claim('bench', ${groupSize}, 30000, 'pgbench', '{}') \\gset
SELECT cardinality(stale) FROM tallyman.command_bus_settle('PENDING', 'COMPLETED', 'COMPLETED', 1, :ids::bigint[], :deliveries::integer[], NULL, NULL, NULL, NULL, NULL, NULL);
`;
