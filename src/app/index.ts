/**
 * The composition root: from the configuration file to wired services.
 *
 * Everything that knows the whole system lives here, so that no slice below has to: `config/` reads,
 * validates and prints the configuration.
 */
export * from "./config/index.ts";
