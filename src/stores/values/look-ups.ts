/** The look-ups of a store that its rows answer, at once or later. */
import type { Store } from '../../engine/store.ts';

type LookUp = 'get' | 'family' | 'asking' | 'childIds' | 'list' | 'count' | 'commitsOf' | 'journal' | 'due';

type Rows = {
  readonly [L in LookUp]: (
    ...given: Parameters<Store[L]>
  ) => ReturnType<Store[L]> | Awaited<ReturnType<Store[L]>>;
};

/** `look` refuses when the store is closed, and puts errors into words. */
export function lookUps(
  rows: Rows,
  look: <T>(read: () => T | Promise<T>) => T | Promise<T>,
): Pick<Store, LookUp> {
  return {
    get: async (id, owner) => look(() => rows.get(id, owner)),
    family: async (id) => look(() => rows.family(id)),
    asking: async (rootId) => look(() => rows.asking(rootId)),
    childIds: async (id) => look(() => rows.childIds(id)),
    list: async (query) => look(() => rows.list(query)),
    count: async (owner, what, upTo) => look(() => rows.count(owner, what, upTo)),
    commitsOf: async (id, afterVersion, limit) => look(() => rows.commitsOf(id, afterVersion, limit)),
    journal: async (id) => look(() => rows.journal(id)),
    due: async (what, now, limit) => look(() => rows.due(what, now, limit)),
  };
}
