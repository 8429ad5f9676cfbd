import type { Store, Task } from '../../src/index.ts';

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
