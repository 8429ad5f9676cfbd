/** Reads all pages of a list. `read` receives the cursor of the page, or no cursor for the first page. */
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
