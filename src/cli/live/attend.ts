/**
 * Stays with a call until it is over or somebody leaves: shows what happens, answers what is asked, and lets go when
 * Ctrl-C is pressed. Whatever happens here, the task is not touched by it.
 */
import type { Answer, Question } from '../../client/asking.ts';
import type { TaskHandle } from '../../client/handle.ts';
import type { Handles } from '../../client/handles.ts';
import type { CallEvent, TaskClient } from '../../client/task-client.ts';
import { exampleOf, type GivenAnswers } from '../given-answers.ts';
import { comeBackWith } from '../registry.ts';
import { connectTo, described, type Target } from '../target.ts';
import { CommandFailed } from '../usage.ts';
import { ask, type Desk } from './ask.ts';
import { Keys } from './terminal.ts';
import { oneLine } from './terminal-text.ts';
import type { View } from './view.ts';

export interface Visit {
  readonly target: Target;
  readonly handles: Handles;
  readonly view: View;
  readonly given: GivenAnswers;
  /** Where somebody sits who can be asked. */
  readonly desk: Omit<Desk, 'onInterrupt'> | undefined;
  /** Leave as soon as there is a handle. */
  readonly detaches?: boolean;
}

class Unanswered extends CommandFailed {}

type Begin = (tasks: TaskClient, signal: AbortSignal) => Promise<TaskHandle>;

export function attend(visit: Visit, begin: Begin): Promise<number> {
  return new Attendance(visit).run(begin);
}

class Attendance {
  readonly #visit: Visit;
  readonly #keys: Keys;
  /** Resolves when somebody leaves, rejects when there is a question that nobody will answer. */
  readonly #halted = Promise.withResolvers<'left'>();
  readonly #over = new AbortController();
  /** Gives up a call that asks before it begins. */
  readonly #refused = new AbortController();
  /** Several tasks may ask at the same time; a person is asked one thing after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #id: string | undefined;

  constructor(visit: Visit) {
    this.#visit = visit;
    this.#halted.promise.catch(() => {});
    this.#keys = new Keys(visit.desk?.input, () => {
      this.#over.abort();
      this.#halted.resolve('left');
    });
  }

  async run(begin: Begin): Promise<number> {
    const { view, target, handles } = this.#visit;
    this.#keys.listen();
    let tasks: TaskClient | undefined;
    let how: 'completed' | 'failed' | 'left' = 'failed';
    try {
      view.connecting?.(described(target));
      const connecting = connectTo(target, {
        handles,
        answer: (question, signal) => this.#answer(question, signal),
        onEvent: (event) => this.#happened(event),
      });
      tasks = await this.#unlessLeft(connecting);
      how = await this.#follow(await this.#unlessLeft(begin(tasks, this.#refused.signal)));
      return how === 'failed' ? 1 : 0;
    } catch (error) {
      const message = this.#wordsFor(error as Error);
      view.end?.('failed');
      view.failed?.(this.#id, message, (error as { rpcCode?: number }).rpcCode);
      throw new CommandFailed(message, { cause: error });
    } finally {
      this.#over.abort();
      view.end?.(how);
      await tasks?.close().catch(() => {});
      this.#keys.close();
    }
  }

  /** Before there is a task, leaving ends the process. */
  async #unlessLeft<T extends object>(begun: Promise<T>): Promise<T> {
    begun.catch(() => {});
    const first = await Promise.race([begun, this.#halted.promise]);
    return first === 'left' ? this.#leaves() : first;
  }

  async #follow(handle: TaskHandle): Promise<'completed' | 'failed' | 'left'> {
    const { view, detaches } = this.#visit;
    const ended = detaches ? 'left' : await Promise.race([this.#toTheEnd(handle), this.#halted.promise]);
    if (ended === 'left') {
      if (!detaches) handle.detach();
      view.end?.('left');
      if (detaches) view.handle?.(handle.id);
      this.#sayHowToComeBack();
      return 'left';
    }
    const how = ended.isError ? 'failed' : 'completed';
    view.end?.(how);
    view.result(handle.id, ended);
    return how;
  }

  async #toTheEnd(handle: TaskHandle) {
    for await (const update of handle.updates()) this.#visit.view.update(update);
    return handle.result();
  }

  #happened({ event, handle, taskId, tool, at }: CallEvent): void {
    const { view, handles } = this.#visit;
    if (event === 'called' || event === 'resumed') {
      this.#id = handle;
      view.called?.({ id: handle, tool: tool ?? '', since: handles.get(handle)?.createdAt ?? at });
    }
    if ((event === 'task' || event === 'resumed') && taskId !== undefined) view.began(handle, taskId);
  }

  // --- Leaving --------------------------------------------------------------------------------------------

  /** Before there was a task. A call that is on its way stays written down, so that it can be taken up again. */
  #leaves(): never {
    this.#visit.view.end?.('left');
    if (this.#id !== undefined) this.#sayHowToComeBack();
    else console.error('holdfast: Stopped before anything was called.');
    // Nothing is closed first: that might take a while, and would make a call look refused.
    process.exit(this.#id === undefined ? 1 : 0);
  }

  #sayHowToComeBack(): void {
    const { view, handles, target } = this.#visit;
    const what =
      'url' in target.upstream
        ? 'the task goes on.'
        : 'the server ended with this command, and goes on when it is started again.';
    view.detached(this.#id!, comeBackWith('watch', this.#id!, { handles, target }), what);
  }

  #wordsFor(error: Error): string {
    const { handles, target } = this.#visit;
    const words = oneLine(error.message);
    const record = this.#id === undefined ? undefined : handles.get(this.#id);
    if (error instanceof Unanswered || !record || record.ending) return words;
    return `${words} Come back with: ${comeBackWith('watch', record.id, { handles, target })}`;
  }

  // --- Questions ------------------------------------------------------------------------------------------

  async #answer(question: Question, signal: AbortSignal): Promise<Answer> {
    const { view, given, desk } = this.#visit;
    const answer = given.answerTo(question);
    if (answer && question.problem === undefined) {
      view.asked?.(question);
      return answer;
    }
    if (!answer && desk) {
      const turn = this.#turn.then(() => this.#put(question, AbortSignal.any([signal, this.#over.signal])));
      this.#turn = turn.catch(() => {});
      // Whoever leaves has not refused to answer: it will be asked again.
      return turn.catch((error: unknown) => (this.#over.signal.aborted ? never : Promise.reject(error)));
    }
    view.asked?.(question);
    this.#halted.reject(new Unanswered(this.#howToAnswer(question)));
    if (question.taskId === undefined) this.#giveUp();
    return never;
  }

  /** Nothing has begun: there is nothing to come back to. */
  #giveUp(): void {
    this.#refused.abort();
    if (this.#id !== undefined) this.#visit.handles.delete(this.#id);
  }

  async #put(question: Question, signal: AbortSignal): Promise<Answer> {
    const { view, desk } = this.#visit;
    signal.throwIfAborted();
    view.pause?.();
    this.#keys.rest();
    try {
      return await ask(question, signal, { ...desk!, onInterrupt: this.#keys.interrupt });
    } catch (error) {
      if (signal.aborted && !this.#over.signal.aborted)
        view.say?.('Somebody else has answered, or it is not asked any more.');
      throw error;
    } finally {
      if (!this.#over.signal.aborted) {
        this.#keys.listen();
        view.resume?.();
      }
    }
  }

  #howToAnswer(question: Question): string {
    const { handles, target } = this.#visit;
    const { key, problem, taskId } = question;
    const about = 'message' in question && question.message !== '' ? ` (${oneLine(question.message)})` : '';
    if (problem !== undefined)
      return `The server refused the answer to "${oneLine(key)}": ${oneLine(problem)}`;
    const example = exampleOf(question);
    if (taskId === undefined || this.#id === undefined)
      return `The tool asks "${oneLine(key)}"${about} before it begins: call it again with --answer ${example}.`;
    const command = comeBackWith('answer', this.#id, { handles, target }, example);
    return `The task goes on when "${oneLine(key)}"${about} is answered: with --answer, or with ${command}`;
  }
}

const never = new Promise<Answer>(() => {});
