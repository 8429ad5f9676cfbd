/** All pages of a list, one after the other. `read` is given the cursor of each, and none for the first. */
export async function* pagesOf<Page extends { readonly nextCursor?: string }>(
  read: (from: { readonly cursor?: string }) => Promise<Page>,
): AsyncGenerator<Page> {
  for (let from: { readonly cursor?: string } = {}; ; ) {
    const page = await read(from);
    yield page;
    if (page.nextCursor === undefined) return;
    from = { cursor: page.nextCursor };
  }
}
