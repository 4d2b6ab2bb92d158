/**
 * Tallyman coordinates batches of work across a fleet of workers, on the PostgreSQL you already have,
 * and every item is accounted for. This file lists every public name.
 *
 * @packageDocumentation
 */
export {
  type Config,
  type ConnectOptions,
  type Diagnosis,
  doctor,
  type EmbeddedOptions,
  type Finding,
  type LoadConfigOptions,
  loadConfig,
  type OpenOptions,
  Tallyman,
} from "./app/index.ts";
export {
  type BatchInfo,
  BatchInfoSchema,
  type DeadLetterMessage,
  DeadLetterMessageSchema,
  type MetadataInfo,
  MetadataInfoSchema,
} from "./contracts/index.ts";
export {
  type CallerClient,
  Database,
  type DatabaseOptions,
  type Executor,
  type MigrationReport,
  type PoolStats,
  pipelined,
  type QueryResult,
  Transaction,
} from "./database/index.ts";
export { type ErrorCode, errorCatalogue, exitCodes, isTallymanError, TallymanError } from "./errors/index.ts";
export {
  ErrorLog,
  MetricsRegistry,
  type Monitorable,
  MonitoredService,
  type OperationalError,
  prometheusText,
} from "./monitoring/index.ts";
export {
  type Clock,
  configureLogging,
  GroupCommitBuffer,
  type GroupCommitBufferOptions,
  type Logger,
  type LoggingOptions,
  type LogLevel,
  type LogRecord,
  runUntilSignal,
  Service,
  type ServiceState,
  type ShutdownOptions,
} from "./runtime/index.ts";
export {
  type DeadLetterOptions,
  type GroupInfo,
  type InTransaction,
  type NackOptions,
  NatsTopics,
  type NatsTopicsOptions,
  type Outgoing,
  PostgresTopics,
  type RedriveOptions,
  type SeekTarget,
  type SendOptions,
  type SendOutcome,
  StaleMessageError,
  type TopicCapabilities,
  type TopicInfo,
  type TopicMessage,
  type TopicReader,
  type TopicReaderOptions,
  TopicRetention,
  type TopicRetentionOptions,
  type Topics,
  type TopicWriter,
  type TopicWriterOptions,
} from "./topics/index.ts";
