import type { Task } from '../../src/index.ts';
import type { Store } from '../../src/store.ts';

/** All pages of a list, one after the other. `read` is given the cursor of the next one, if there is one. */
export async function* pagesOf<P extends { readonly nextCursor?: string | undefined }>(
  read: (from: { readonly cursor?: string }) => Promise<P>,
): AsyncGenerator<P> {
  let page = await read({});
  yield page;
  while (page.nextCursor !== undefined) {
    page = await read({ cursor: page.nextCursor });
    yield page;
  }
}

export async function* listed(
  store: Pick<Store, 'list'>,
  query: { readonly owner: string; readonly limit: number },
): AsyncGenerator<Task> {
  for await (const { tasks } of pagesOf((from) => store.list({ ...query, ...from }))) yield* tasks;
}
