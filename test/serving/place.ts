/** A folder of the test's own: the database, what handlers wrote, and the gates that hold them. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import type { Task } from '../../src/index.ts';

export class Place {
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-serving-'));

  /** Goes with the test. */
  static forTest(): Place {
    const place = new Place();
    onTestFinished(() => place.remove());
    return place;
  }

  get database(): string {
    return join(this.#folder, 'tasks.db');
  }

  /** The arguments of a tool that writes what it does, and waits at a gate. */
  work(name = 'work'): { readonly trace: string; readonly gate: string } {
    return { trace: join(this.#folder, `${name}.trace`), gate: join(this.#folder, `${name}.gate`) };
  }

  open(name = 'work'): void {
    writeFileSync(this.work(name).gate, '');
  }

  /** What the handler did so far. */
  trace(name = 'work'): string[] {
    const { trace } = this.work(name);
    return existsSync(trace) ? readFileSync(trace, 'utf8').split('\n').slice(0, -1) : [];
  }

  /** Every task in the database, published or not, or those of a tool, as another process sees them. */
  tasks(tool?: string): Task[] {
    const db = new DatabaseSync(this.database);
    try {
      db.exec('pragma busy_timeout = 5000; pragma query_only = on');
      return db
        .prepare('select body from tasks order by seq')
        .all()
        .map(({ body }) => JSON.parse(String(body)) as Task)
        .filter((task) => tool === undefined || task.tool === tool);
    } finally {
      db.close();
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** How each task stands: its phase, or how it ended. */
export function standing(tasks: readonly Task[]): string[] {
  return tasks.map((task) => (task.phase === 'done' ? task.outcome.kind : task.phase));
}
