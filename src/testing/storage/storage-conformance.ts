import type { StorageConformanceCase } from "./conformance-case.ts";
import { integrityCases } from "./integrity-cases.ts";
import { listingCases } from "./listing-cases.ts";
import { writingCases } from "./writing-cases.ts";

/**
 * What every storage promises, as named cases for any test runner. A driver passes when no case throws.
 *
 * @example
 * ```ts
 * for (const { name, run } of storageConformance) it(name, () => run(newContext()));
 * ```
 */
export const storageConformance: readonly StorageConformanceCase[] = [
  ...writingCases,
  ...listingCases,
  ...integrityCases,
];
