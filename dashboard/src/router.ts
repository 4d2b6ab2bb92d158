import { computed, signal } from "@preact/signals";

const address = signal(currentAddress());

/** The path of the page. */
export const path = computed(() => address.value.path);

/** The part of the address behind the question mark. */
export const search = computed(() => new URLSearchParams(address.value.search));

function currentAddress() {
  return { path: window.location.pathname, search: window.location.search };
}

/** Goes to another screen of the dashboard. */
export function navigate(href: string): void {
  window.history.pushState(null, "", href);
  address.value = currentAddress();
  window.scrollTo(0, 0);
}

/** Changes parameters of the present address; undefined or an empty text removes one. */
export function setSearch(changes: Readonly<Record<string, string | undefined>>): void {
  const next = new URLSearchParams(window.location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, value);
  }
  const text = next.size === 0 ? "" : `?${next}`;
  window.history.replaceState(null, "", `${window.location.pathname}${text}`);
  address.value = currentAddress();
}

/** An address with parameters; those that are undefined are left out. */
export function hrefOf(to: string, parameters: Readonly<Record<string, string | undefined>> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return query.size === 0 ? to : `${to}?${query}`;
}

/** Follows links within the dashboard without loading the page anew, and the browser's back and forward. */
export function listenToNavigation(): void {
  window.addEventListener("popstate", () => {
    address.value = currentAddress();
  });
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest("a");
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
    if (!link || !isPlain || link.target !== "" || link.origin !== window.location.origin) return;
    const isOnThisPage = link.hash !== "" && link.pathname === window.location.pathname;
    if (isOnThisPage || link.hasAttribute("data-outside")) return;
    event.preventDefault();
    navigate(`${link.pathname}${link.search}`);
  });
}
