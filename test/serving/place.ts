/** A folder of the test's own: the database, what handlers wrote, and the gates that hold them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Task } from '../../src/index.ts';
import { taskIn } from '../../src/stores/shared/task-texts.ts';
import { temporaryFolder } from '../kit/lifetime.ts';
import { queryFile } from '../kit/sqlite.ts';
import { linesOf } from '../kit/text.ts';

export class Place {
  readonly #folder = temporaryFolder();

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

  trace(name = 'work'): string[] {
    return linesOf(this.work(name).trace);
  }

  /** Every task in the database, published or not, or those of a tool, as another process sees them. */
  tasks(tool?: string): Task[] {
    return queryFile(this.database, 'select body from tasks order by seq')
      .map(({ body }) => taskIn(String(body)))
      .filter((task) => tool === undefined || task.tool === tool);
  }
}

export function standing(tasks: readonly Task[]): string[] {
  return tasks.map((task) => (task.phase === 'done' ? task.outcome.kind : task.phase));
}
