import { call } from "../api.ts";
import { ChoiceFilter } from "../components/filters.tsx";
import { useData } from "../data.ts";
import { search } from "../router.ts";

/** Chooses a domain; the one that the address names is there even when nothing happens in it. */
export function DomainFilter() {
  const domains = useData("domain names", (signal) => call("GET /api/domains", { signal }));
  const named = search.value.get("domain");
  const names = new Set([...(domains.data ?? []).map(({ domain }) => domain), ...(named ? [named] : [])]);
  const choices = [...names].sort().map((name) => [name, name] as const);
  return <ChoiceFilter name="domain" label="Domain" choices={choices} isFirst />;
}
