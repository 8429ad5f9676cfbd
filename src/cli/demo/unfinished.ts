import { anonymous } from '../../hosting/caller.ts';
import type { Tasks } from '../../server/tasks.ts';

/** How many calls of clients are not done yet. What the demo began of itself nobody waits for. */
export async function unfinished(tasks: Tasks): Promise<number> {
  let count = 0;
  let cursor: string | undefined;
  do {
    const page = await tasks.list({ owner: anonymous, limit: 500, ...(cursor !== undefined && { cursor }) });
    count += page.tasks.filter(({ phase }) => phase !== 'done').length;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return count;
}
