/**
 * What is learnt of tasks when jobs have led to them: their rows, so that they can be claimed without being read again;
 * of those that never ran their journal, for the pass, and their first commit, for those who listen.
 */
import { named } from './cells.ts';
import type { Feed } from './feed.ts';
import type { FetchedRow } from './jobs.ts';
import type { Known } from './known.ts';
import type { Rows } from './rows.ts';
import type { Vault } from './vault.ts';
import type { NumberedNotice } from './writes.ts';

interface Learning {
  readonly rows: Rows;
  readonly vault: Vault;
  readonly known: Known;
  readonly feed: Feed;
}

export function learnFrom(found: readonly FetchedRow[], { rows, vault, known, feed }: Learning): void {
  const first: (NumberedNotice & { readonly xact: string })[] = [];
  for (const row of found) {
    try {
      const one = rows.known({ ...row, seq: row.seq! });
      known.set(one);
      const { id: taskId, version } = one.task;
      const { commit: seq, at, events, journal, xact } = row;
      if (version > 1 || seq === null) continue;
      if (journal !== null) known.setJournal(taskId, vault.read(journal, 'commits.journal', taskId, 1));
      const rootId = row.root_id === null ? taskId : named(row.root_id);
      const read = JSON.parse(vault.read(events, 'commits.events', taskId, 1));
      first.push({ seq, taskId, rootId, version, at, events: read, xact });
    } catch {
      // Under a key that is not known yet, or damaged: the claim reads it again, and says so.
    }
  }
  feed.seen(first);
}
