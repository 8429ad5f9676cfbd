/** The drafts that can be turned on, by the names with which client and server declare them. */
export const drafts = ['sep-1686', 'sep-2229', 'sep-2268', 'sep-2339'] as const;

export type Draft = (typeof drafts)[number];
export type Drafts = ReadonlySet<Draft>;

/** The members of `capabilities.experimental`. SEP-1686 needs none: its requests are recognized by their `_meta`. */
export function flagsOf(on: Drafts): Record<string, Record<string, never>> {
  return Object.fromEntries([...on].filter((draft) => draft !== 'sep-1686').map((draft) => [draft, {}]));
}
