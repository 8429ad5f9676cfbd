/**
 * Answers the questions of tasks and sends their events, some at once, some only after a kill. Nobody else answers, so
 * every unanswered question must stay open and unchanged.
 */
import { isDeepStrictEqual } from 'node:util';
import type { InputRecord, TaskId, Tasks } from '../../src/index.ts';
import { hasCode } from '../../src/model/errors.ts';
import { newId } from '../../src/model/id.ts';
import type { CommittedChange } from '../../src/store.ts';
import type { Random } from '../../test/kit/random.ts';
import type { Problem } from './problem.ts';

/** The key of a question that is never answered and times out. */
const unheard = 'unheard';
const afterAKill = 0.3;

interface Question {
  readonly task: TaskId;
  readonly input: InputRecord;
}

export class Responder {
  readonly problems: Problem[] = [];
  answers = 0;
  /** Questions that survived a kill, counted once per kill. */
  survived = 0;
  readonly #tasks: Tasks;
  readonly #random: Random;
  readonly #sent = new Map<string, string>();
  /** Unanswered questions. */
  readonly #open = new Map<string, Question>();
  readonly #heldBack: (() => void)[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #killsToCome = true;

  constructor(tasks: Tasks, random: Random) {
    this.#tasks = tasks;
    this.#random = random;
  }

  readonly onChange = ({ taskId, events }: CommittedChange): void => {
    for (const event of events) if (event.type === 'asked') this.#guard(() => this.#asked(taskId, event.key));
  };

  /** The answer or event that was sent to a task under a key or name. */
  sentTo(task: TaskId, name: string): string | undefined {
    return this.#sent.get(`${task} ${name}`);
  }

  /** Sends the events that a new task will wait for, each after a random time. */
  welcome(task: TaskId): void {
    this.#later(this.#random.between(0, 3_000), () => this.#complete(task, 'cleared'));
    if (this.#random.chance(0.5))
      this.#later(this.#random.between(0, 5_000), () => this.#complete(task, 'signal'));
  }

  /** Checks all questions that must be open. Call after processes were killed. */
  async expectAllOpen(): Promise<void> {
    const open = [...this.#open.values()];
    const stillOpen = await Promise.all(open.map((question) => this.#isStillOpen(question)));
    this.survived += stillOpen.filter((is) => is).length;
  }

  /** Sends the answers that were held back until a kill. */
  afterKill(): void {
    for (const send of this.#heldBack.splice(0))
      this.#later(this.#random.between(0, 400), async () => send());
  }

  /** Stops holding back answers. */
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
      return this.#complain('broken', task, `the question "${key}" was reported but cannot be read`);
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
    this.#sent.set(`${task} ${input.key}`, words);
    this.#open.delete(`${task} ${input.key}`);
    const { inputs } = await this.#tasks.answer(task, { [input.key]: response });
    this.answers++;
    const answered = inputs.find(({ key }) => key === input.key);
    if (answered?.state !== 'answered' || !isDeepStrictEqual(answered.response, response))
      this.#complain('lost', task, `the answer to "${input.key}" was acknowledged but is missing`);
  }

  async #isStillOpen({ task, input }: Question): Promise<boolean> {
    const now = (await this.#tasks.get(task))?.inputs.find(({ key }) => key === input.key);
    if (isDeepStrictEqual(now, input)) return true;
    // It may have been answered during the read.
    if (this.#sent.has(`${task} ${input.key}`)) return false;
    this.#complain(
      'broken',
      task,
      `the question ${JSON.stringify(input)} changed to ${JSON.stringify(now)} without an answer`,
    );
    return false;
  }

  async #complete(task: TaskId, name: string): Promise<void> {
    const words = `${name}-${newId().slice(0, 8)}`;
    this.#sent.set(`${task} ${name}`, words);
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
      this.problems.push({ kind: 'broken', text: `The responder failed: ${error.stack}` }),
    );
  }

  #complain(kind: Problem['kind'], task: TaskId, text: string): void {
    this.problems.push({ kind, task, text });
  }
}
