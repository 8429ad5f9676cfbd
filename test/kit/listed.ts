import type { Store } from '../../src/engine/store.ts';
import type { Task } from '../../src/model/task.ts';

/** All tasks of an owner, page after page. */
export async function* listed(
  store: Pick<Store, 'list'>,
  query: { readonly owner: string; readonly limit: number },
): AsyncGenerator<Task> {
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) });
    yield* page.tasks;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}
