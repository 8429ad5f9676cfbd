/**
 * The other side of the tasks: answers their questions and completes their events, some at once, some only after a
 * kill. It alone answers, so whatever it has not answered must be open, under the same key and since the same moment.
 */
import { isDeepStrictEqual } from 'node:util';
import type { InputRecord, TaskId, Tasks } from '../../src/index.ts';
import { hasCode } from '../../src/model/errors.ts';
import { newId } from '../../src/model/id.ts';
import type { CommittedChange } from '../../src/store.ts';
import type { Random } from '../../test/kit/random.ts';
import type { Problem } from './problem.ts';

/** A question that times out, because nobody answers it. */
const unheard = 'unheard';
const afterAKill = 0.3;

interface Question {
  readonly task: TaskId;
  readonly input: InputRecord;
}

export class Requestor {
  readonly problems: Problem[] = [];
  answers = 0;
  /** Questions that were seen to outlive a kill, counted once for each kill. */
  survived = 0;
  readonly #tasks: Tasks;
  readonly #random: Random;
  readonly #said = new Map<string, string>();
  /** Asked, and not answered yet. */
  readonly #open = new Map<string, Question>();
  readonly #heldBack: (() => void)[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #killsToCome = true;

  constructor(tasks: Tasks, random: Random) {
    this.#tasks = tasks;
    this.#random = random;
  }

  readonly hear = ({ taskId, events }: CommittedChange): void => {
    for (const event of events) if (event.type === 'asked') this.#guard(() => this.#asked(taskId, event.key));
  };

  /** What was said to a task under a key or a name. */
  saidTo(task: TaskId, name: string): string | undefined {
    return this.#said.get(`${task} ${name}`);
  }

  /** Completes, at some time, the events that a new task will wait for. */
  welcome(task: TaskId): void {
    this.#later(this.#random.between(0, 3_000), () => this.#complete(task, 'cleared'));
    if (this.#random.chance(0.5))
      this.#later(this.#random.between(0, 5_000), () => this.#complete(task, 'signal'));
  }

  /** Looks at every question that is to be open. To be called when processes were killed. */
  async expectAllOpen(): Promise<void> {
    const open = [...this.#open.values()];
    const stillOpen = await Promise.all(open.map((question) => this.#isStillOpen(question)));
    this.survived += stillOpen.filter((is) => is).length;
  }

  /** There was a kill: some of what was held back for that is said now. */
  afterKill(): void {
    for (const say of this.#heldBack.splice(0)) this.#later(this.#random.between(0, 400), async () => say());
  }

  /** Nothing is held back any more. */
  noMoreKills(): void {
    this.#killsToCome = false;
    this.afterKill();
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async #asked(task: TaskId, key: string): Promise<void> {
    const input = (await this.#tasks.get(task))?.inputs.find((one) => one.key === key);
    if (!input)
      return this.#complain('broken', task, `the question "${key}" cannot be read though it was told of`);
    if (key === unheard) return;
    const question = { task, input };
    this.#open.set(`${task} ${key}`, question);
    const answer = () => this.#answer(question);
    if (this.#killsToCome && this.#random.chance(afterAKill)) this.#heldBack.push(() => this.#guard(answer));
    else this.#later(this.#random.between(0, 400), answer);
  }

  async #answer(question: Question): Promise<void> {
    const { task, input } = question;
    if (!(await this.#isStillOpen(question))) return;
    const words = `aye-${newId().slice(0, 8)}`;
    const response = { action: 'accept', content: { words } };
    this.#said.set(`${task} ${input.key}`, words);
    this.#open.delete(`${task} ${input.key}`);
    const { inputs } = await this.#tasks.answer(task, { [input.key]: response });
    this.answers++;
    const answered = inputs.find(({ key }) => key === input.key);
    if (answered?.state !== 'answered' || !isDeepStrictEqual(answered.response, response))
      this.#complain('lost', task, `the answer to "${input.key}" was acknowledged and is not there`);
  }

  async #isStillOpen({ task, input }: Question): Promise<boolean> {
    const now = (await this.#tasks.get(task))?.inputs.find(({ key }) => key === input.key);
    if (isDeepStrictEqual(now, input)) return true;
    // It may have been answered while we looked.
    if (this.#said.has(`${task} ${input.key}`)) return false;
    this.#complain(
      'broken',
      task,
      `the question ${JSON.stringify(input)} has become ${JSON.stringify(now)} by itself`,
    );
    return false;
  }

  async #complete(task: TaskId, name: string): Promise<void> {
    const words = `${name}-${newId().slice(0, 8)}`;
    this.#said.set(`${task} ${name}`, words);
    try {
      await this.#tasks.sendEvent(task, name, words);
    } catch (error) {
      if (!hasCode(error, 'TASK_IS_DONE')) throw error;
    }
  }

  #later(ms: number, act: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#guard(act);
    }, ms);
    this.#timers.add(timer);
  }

  #guard(act: () => Promise<void>): void {
    act().catch((error) =>
      this.problems.push({ kind: 'broken', text: `The requestor failed: ${error.stack}` }),
    );
  }

  #complain(kind: Problem['kind'], task: TaskId, text: string): void {
    this.problems.push({ kind, task, text });
  }
}
