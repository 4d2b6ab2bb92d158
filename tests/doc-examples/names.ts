/**
 * Names that examples use without making them: what every reader of Tallyman knows by these names, and pretended parts
 * of an application.
 */
import type { EventEmitter } from "node:events";
import type { ServiceManager, ServiceRegistry } from "../../src/app/index.ts";
import type { TallymanClient } from "../../src/client/index.ts";
import type {
  BatchCoordinator,
  BatchInfo,
  CommandBus,
  Config,
  Database,
  DummyIndexer,
  ErrorLog,
  FileChunk,
  Fleet,
  HttpServer,
  JobStore,
  LogLevel,
  MetadataQueue,
  MetadataReadingComponent,
  MetricsRegistry,
  PackedTick,
  PersistenceService,
  SegmentState,
  StorageDriver,
  Tallyman,
  TickBufferingComponent,
  TickData,
  TickQueue,
  TopicCapabilities,
  TopicReader,
  Topics,
  Transaction,
  Worker,
  WorkerState,
  World,
} from "../../src/index.ts";
import { BatchIndexer, type BatchStorage, Service } from "../../src/index.ts";
import type { SlidingWindowPercentiles } from "../../src/monitoring/index.ts";
import type { AccessTokens } from "../../src/operators/index.ts";
import type { BackoffOptions, WakeUp } from "../../src/runtime/index.ts";
import type { StorageConformanceContext, TopicConformanceOptions } from "../../src/testing/index.ts";

export { writeFile } from "node:fs/promises";
export { default as pg } from "pg";
export { expect, it } from "vitest";
export { z } from "zod";

export declare const tallyman: Tallyman;
export declare const config: Config;
export declare const database: Database;
export declare const tx: Transaction;
export declare const schema: string;
export declare const storage: BatchStorage;
export declare const key: string;
export declare const topics: Topics;
export declare const topic: TopicReader<BatchInfo>;
export declare const capabilities: TopicCapabilities;
export declare const info: BatchInfo;
export declare const bytes: Uint8Array;
export declare const signal: AbortSignal;
export declare const error: unknown;
export declare const errors: ErrorLog;
export declare const latency: SlidingWindowPercentiles;
export declare const registry: MetricsRegistry;
export declare const wakeUp: WakeUp;
export declare const backoff: BackoffOptions;
export declare const pollIntervalMs: number;

export declare const bus: CommandBus;
export declare const worker: Worker;
export declare const commandId: string;
export declare const orders: readonly { readonly orderId: number }[];

export declare const services: ServiceRegistry;
export declare const manager: ServiceManager;
export declare const server: HttpServer;
export declare const client: TallymanClient;
export declare const tokens: AccessTokens;
export declare const requestId: string;

export declare const runId: string;
export declare const world: World;
export declare const tick: TickData;
export declare const ticks: readonly TickData[];
export declare const queue: TickQueue;
export declare const metadataQueue: MetadataQueue;
export declare const persistence: PersistenceService;
export declare const indexer: DummyIndexer;
export declare const coordinator: BatchCoordinator;
export declare const metadata: MetadataReadingComponent;
export declare const buffering: TickBufferingComponent<TickData>;
export declare const chunk: FileChunk<TickData>;
export declare const filename: string;
export declare const file: string;
export declare const ledger: { readonly crc: number; readonly resumeAt: number };
export declare const resumeAt: number;
export declare const buffer: { add(tick: PackedTick, position: number): void };

export declare const fleet: Fleet;
export declare const jobs: JobStore;
export declare const bootId: string;
export declare const workers: readonly WorkerState[];
export declare const segments: readonly SegmentState[];

/** An application's own. */
export interface Reading {
  readonly sequence: number;
}
export interface IndexerOptions {
  readonly topic: string;
  readonly insertBatchSize: number;
  readonly maxRetries: number;
  readonly source: "topic" | "discovery";
}
export declare const given: { readonly topic: string };
export declare const readings: AsyncIterable<Reading>;
export declare const url: string;
export declare const listener: EventEmitter;
export declare const appLogger: Readonly<Record<LogLevel, (fields: object, message: string) => void>>;
export declare const open: TopicConformanceOptions["open"];
export declare function newContext(): StorageConformanceContext;
export declare function breakConnection(): Promise<void>;
export declare function claim(): Promise<void>;
export declare function completeCommands(database: Database, ids: readonly string[]): Promise<boolean[]>;
export declare function connect(url: string): Promise<void>;
export declare function deadLetter(key: string, offset: number, reason: string): void;
export declare function drain(): Promise<void>;
export declare function draw(cells: readonly object[], title: string): void;
export declare function isConnectionRefused(error: unknown): boolean;
export declare function moveToDlq(key: string): Promise<void>;
export declare function plot(points: readonly (readonly number[])[]): void;
export declare function retryLater(details: object): void;
export declare function selectMetadata(runId: string): Promise<object>;
export declare function ship(orderId: number): Promise<void>;
export declare function sweep(signal: AbortSignal): Promise<number>;
export declare function tryClaim(file: string): Promise<boolean>;
export declare function work(): Promise<void>;
export declare function write(ticks: readonly TickData[]): Promise<void>;

/** A service of one's own. */
export declare class Auditor extends Service {
  constructor(name: string, resources: { readonly storage: BatchStorage }, options: object);
  protected override runOnce(): Promise<void>;
}

/** Indexers of one's own. */
export declare class TickCounter extends BatchIndexer {
  protected override flushTicks(): void;
}
export declare class ElderIndexer extends BatchIndexer {
  protected override flushTicks(): void;
}

/** Storage drivers of one's own. */
export interface FtpDriver extends StorageDriver {}
export declare const FtpDriver: new (options: object) => FtpDriver;
export interface TableDriver extends StorageDriver {}
export declare const TableDriver: new (database: Database) => TableDriver;
