/** Orders voyages and records which were created. Another process, which is killed at times, creates half of them. */
import type { Task, TaskId, Tasks } from '../../src/index.ts';
import { Child } from '../../test/kit/child.ts';
import type { Random } from '../../test/kit/random.ts';
import type { ChildMessage } from './child-messages.ts';
import type { ChildOptions } from './child-process.ts';
import type { Problem } from './problem.ts';
import type { chaosTools } from './tools.ts';
import { createVoyage, type Voyage } from './voyages.ts';

export class Creations {
  readonly problems: Problem[] = [];
  /** The acknowledged tasks, by number of the voyage. */
  readonly acknowledged = new Map<number, TaskId>();
  kills = 0;
  readonly #tasks: Tasks;
  readonly #tool: ReturnType<typeof chaosTools>['voyage'];
  readonly #options: ChildOptions;
  readonly #random: Random;
  readonly #created: (id: TaskId) => void;
  readonly #ordered: Voyage[] = [];
  #creator: Child<ChildMessage>;

  constructor(parts: {
    readonly tasks: Tasks;
    readonly tool: ReturnType<typeof chaosTools>['voyage'];
    readonly options: ChildOptions;
    readonly random: Random;
    readonly created: (id: TaskId) => void;
  }) {
    this.#tasks = parts.tasks;
    this.#tool = parts.tool;
    this.#options = parts.options;
    this.#random = parts.random;
    this.#created = parts.created;
    this.#creator = this.#start();
  }

  get ordered(): number {
    return this.#ordered.length;
  }

  order(): void {
    const voyage = { n: this.#ordered.length + 1, rest: this.#random.between(60, 400) };
    this.#ordered.push(voyage);
    if (this.#random.chance(0.5)) this.#creator.tell(voyage);
    else
      createVoyage(this.#tasks, this.#tool, voyage, this.#options.run).then(
        ({ id }: Task) => this.#acknowledge(voyage.n, id),
        (error) => this.#complain(`Voyage ${voyage.n} could not be created: ${error}`),
      );
  }

  /** Kills the creator. Its successor receives all orders that were not acknowledged. */
  async killCreator(): Promise<void> {
    this.kills++;
    await this.#creator.kill();
    this.#creator = this.#start();
    for (const voyage of this.#ordered) if (!this.acknowledged.has(voyage.n)) this.#creator.tell(voyage);
  }

  async close(): Promise<void> {
    await this.#creator.kill();
  }

  #start(): Child<ChildMessage> {
    return new Child<ChildMessage>(import.meta.resolve('./creator.ts'), this.#options, (message) => {
      if (message.kind === 'created') this.#acknowledge(message.n, message.id);
      if (message.kind === 'failed') this.#complain(`The creator failed: ${message.error}`);
    });
  }

  #acknowledge(n: number, id: TaskId): void {
    const before = this.acknowledged.get(n);
    if (before === undefined) {
      this.acknowledged.set(n, id);
      this.#created(id);
    } else if (before !== id) this.#complain(`Voyage ${n} was created twice, as ${before} and as ${id}.`);
  }

  #complain(text: string): void {
    this.problems.push({ kind: 'broken', text });
  }
}
