import { transpileForChildren } from "./kit/children.ts";

/** Vitest's global set-up of the tests that start processes. */
export default transpileForChildren;
