import type { Audit, AuditPage, AuditQuery } from './audit.ts';

const pageSize = 500;

/** The audit log for those who read it: `tasks.audit`. */
export class AuditLog {
  readonly #audit: () => Promise<Audit>;

  constructor(audit: () => Promise<Audit>) {
    this.#audit = audit;
  }

  /** A page of entries, the oldest first. With its `nextCursor` the same query goes on. */
  async read(
    query: AuditQuery & { readonly limit?: number; readonly cursor?: string } = {},
  ): Promise<AuditPage> {
    return (await this.#audit()).read({ limit: pageSize, ...query });
  }

  /** All of them as lines of JSON, each with the end of its line. */
  async *export(query: AuditQuery = {}): AsyncGenerator<string> {
    const audit = await this.#audit();
    for (let cursor: string | undefined; ; ) {
      const page = await audit.read({ ...query, limit: pageSize, ...(cursor !== undefined && { cursor }) });
      for (const entry of page.entries) yield `${JSON.stringify(entry)}\n`;
      if (page.nextCursor === undefined) return;
      cursor = page.nextCursor;
    }
  }
}
