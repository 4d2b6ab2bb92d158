import { testServer } from "./test-server.ts";

/** Vitest's global set-up: keeps the tests' server attached while the workers come and go. */
export default async function globalSetup(): Promise<() => Promise<void>> {
  const server = await testServer();
  return () => server.close();
}
