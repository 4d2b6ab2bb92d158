import type { TopicCapabilities } from "./topic.ts";

export const postgresCapabilities: TopicCapabilities = {
  transactionalAck: true,
  fencedAck: true,
  unboundedIdempotency: true,
  retentionSparesUnacknowledged: true,
  redriveKeepsPosition: true,
};

export const natsCapabilities: TopicCapabilities = {
  transactionalAck: false,
  fencedAck: false,
  unboundedIdempotency: false,
  retentionSparesUnacknowledged: false,
  redriveKeepsPosition: false,
};
