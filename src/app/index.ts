/**
 * The composition root: from the configuration file to wired services.
 *
 * Everything that knows the whole system lives here, so that no slice below has to: `config/` reads,
 * validates and prints the configuration, {@link Tallyman} opens the database that it names,
 * `services/` runs what it describes, and `doctor/` examines what was opened.
 */
export * from "./config/index.ts";
export { type Diagnosis, diagnoseFailure, doctor } from "./doctor/doctor.ts";
export type { Finding } from "./doctor/finding.ts";
export * from "./services/index.ts";
export { type OpenStorageOptions, openConfiguredStorage } from "./storage.ts";
export {
  type ActionOutcome,
  type ActionRequest,
  type ConnectOptions,
  type EmbeddedOptions,
  type OpenOptions,
  Tallyman,
} from "./tallyman.ts";
