/** Grounds that are told apart by most eyes, each with the text colour that is read on it. */
const colours: readonly (readonly [ground: string, text: string])[] = [
  ["#0f6b6b", "#ffffff"],
  ["#c77700", "#101010"],
  ["#5b4fc4", "#ffffff"],
  ["#b3447a", "#ffffff"],
  ["#6f8f1f", "#101010"],
  ["#1f6fb5", "#ffffff"],
  ["#a0522d", "#ffffff"],
  ["#58656f", "#ffffff"],
];

/** An owner's colour as custom properties: by its place among all owners, so that neighbours differ. */
export function ownerStyle(owners: readonly string[], owner: string): Record<string, string> {
  const place = [...owners].sort().indexOf(owner);
  const [ground, text] = colours[(place + colours.length) % colours.length] ?? ["", ""];
  return { "--owner": ground, "--on-owner": text };
}
