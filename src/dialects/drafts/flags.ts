/** The drafts that a server can have on, under the names with which client and server flag them to each other. */
export const drafts = ['sep-1686', 'sep-2229', 'sep-2268', 'sep-2339'] as const;

export type Draft = (typeof drafts)[number];
export type Drafts = ReadonlySet<Draft>;

/** In `capabilities.experimental`; the original proposal needs no flag, its metadata says it. */
export function flagsOf(on: Drafts): Record<string, Record<string, never>> {
  return Object.fromEntries([...on].filter((draft) => draft !== 'sep-1686').map((draft) => [draft, {}]));
}
