/**
 * Stays with a call until it is over or somebody leaves: shows what happens, answers what is asked, and lets go when
 * Ctrl-C is pressed. Whatever happens here, the task is not touched by it.
 */

import type { TaskHandle } from '../../client/call-handle.ts';
import type { CallRegistry } from '../../client/call-registry.ts';
import type { Answer, Question } from '../../client/questions/question-callback.ts';
import type { CallEvent, TaskClient } from '../../client/task-client.ts';
import { CommandFailed } from '../usage.ts';
import type { View } from '../views/call-view.ts';
import { Keys } from '../views/terminal.ts';
import { oneLine } from '../views/terminal-text.ts';
import { ask, type Desk } from './ask.ts';
import { exampleOf, type GivenAnswers } from './given-answers.ts';
import { comeBackWith } from './registry.ts';
import { connectTo, described, type Target } from './target.ts';

export interface Visit {
  readonly target: Target;
  readonly handles: CallRegistry;
  readonly view: View;
  readonly given: GivenAnswers;
  /** Where somebody sits who can be asked. */
  readonly desk: Omit<Desk, 'onInterrupt'> | undefined;
  /** Leave as soon as there is a handle. */
  readonly detaches?: boolean;
}

class Unanswered extends CommandFailed {}

type Begin = (tasks: TaskClient, signal: AbortSignal) => Promise<TaskHandle>;

export async function attend(visit: Visit, begin: Begin): Promise<number> {
  const { view, handles, target, given, desk, detaches } = visit;
  /** Resolves when somebody leaves, rejects when there is a question that nobody will answer. */
  const halted = Promise.withResolvers<'left'>();
  halted.promise.catch(() => {});
  const over = new AbortController();
  /** Gives up a call that asks before it begins. */
  const refused = new AbortController();
  const interrupted = () => {
    over.abort();
    halted.resolve('left');
  };
  const keys = new Keys(desk?.input, { interrupted });
  /** Several tasks may ask at the same time; a person is asked one thing after the other. */
  let turn: Promise<unknown> = Promise.resolve();
  let id: string | undefined;

  const happened = ({ event, handle, taskId, tool, at }: CallEvent) => {
    if (event === 'called' || event === 'resumed') {
      id = handle;
      view.called?.({ id, tool: tool ?? '', since: handles.get(id)?.createdAt ?? at });
    }
    if ((event === 'task' || event === 'resumed') && taskId !== undefined) view.began(handle, taskId);
  };

  // --- Leaving --------------------------------------------------------------------------------------------

  const sayHowToComeBack = (id: string) => {
    const what =
      'url' in target.upstream
        ? 'the task goes on.'
        : 'the server ended with this command, and goes on when it is started again.';
    view.detached(id, comeBackWith('watch', id, visit), what);
  };
  /** Before there is a task, leaving ends the process. A call that is on its way stays written down. */
  const unlessLeft = async <T extends object>(begun: Promise<T>): Promise<T> => {
    begun.catch(() => {});
    const first = await Promise.race([begun, halted.promise]);
    if (first !== 'left') return first;
    view.end?.('left');
    if (id !== undefined) sayHowToComeBack(id);
    else console.error('holdfast: Stopped before anything was called.');
    // Nothing is closed first: that might take a while, and would make a call look refused.
    process.exit(id === undefined ? 1 : 0);
  };
  const toTheEnd = async (handle: TaskHandle) => {
    for await (const update of handle.updates()) view.update(update);
    return handle.result();
  };
  const follow = async (handle: TaskHandle): Promise<'completed' | 'failed' | 'left'> => {
    const ended = detaches ? 'left' : await Promise.race([toTheEnd(handle), halted.promise]);
    if (ended === 'left') {
      if (!detaches) handle.detach();
      view.end?.('left');
      if (detaches) view.handle?.(handle.id);
      sayHowToComeBack(handle.id);
      return 'left';
    }
    const how = ended.isError ? 'failed' : 'completed';
    view.end?.(how);
    view.result(handle.id, ended);
    return how;
  };
  const wordsFor = (error: Error) => {
    const words = oneLine(error.message);
    const record = id === undefined ? undefined : handles.get(id);
    if (error instanceof Unanswered || !record || record.ending) return words;
    return `${words} Come back with: ${comeBackWith('watch', record.id, visit)}`;
  };

  // --- Questions ------------------------------------------------------------------------------------------

  const put = async (question: Question, desk: Omit<Desk, 'onInterrupt'>, signal: AbortSignal) => {
    signal.throwIfAborted();
    view.pause?.();
    keys.rest();
    try {
      return await ask(question, signal, { ...desk, onInterrupt: keys.interrupt });
    } catch (error) {
      if (signal.aborted && !over.signal.aborted)
        view.say?.('Somebody else has answered, or it is not asked any more.');
      throw error;
    } finally {
      if (!over.signal.aborted) {
        keys.listen();
        view.resume?.();
      }
    }
  };
  const howToAnswer = (question: Question) => {
    const { key, problem, taskId } = question;
    const about = 'message' in question && question.message !== '' ? ` (${oneLine(question.message)})` : '';
    if (problem !== undefined)
      return `The server refused the answer to "${oneLine(key)}": ${oneLine(problem)}`;
    const example = exampleOf(question);
    if (taskId === undefined || id === undefined)
      return `The tool asks "${oneLine(key)}"${about} before it begins: call it again with --answer ${example}.`;
    const command = comeBackWith('answer', id, visit, example);
    return `The task goes on when "${oneLine(key)}"${about} is answered: with --answer, or with ${command}`;
  };
  const answer = async (question: Question, signal: AbortSignal): Promise<Answer> => {
    const found = given(question);
    if (found && question.problem === undefined) {
      view.asked?.(question);
      return found;
    }
    if (!found && desk) {
      const answered = turn.then(() => put(question, desk, AbortSignal.any([signal, over.signal])));
      turn = answered.catch(() => {});
      // Whoever leaves has not refused to answer: it will be asked again.
      return answered.catch((error: unknown) => (over.signal.aborted ? never : Promise.reject(error)));
    }
    view.asked?.(question);
    halted.reject(new Unanswered(howToAnswer(question)));
    if (question.taskId === undefined) {
      // Nothing has begun: there is nothing to come back to.
      refused.abort();
      if (id !== undefined) handles.delete(id);
    }
    return never;
  };

  // --- From the beginning to the end ----------------------------------------------------------------------

  keys.listen();
  let tasks: TaskClient | undefined;
  let how: 'completed' | 'failed' | 'left' = 'failed';
  try {
    view.connecting?.(described(target));
    tasks = await unlessLeft(connectTo(target, { registry: handles, answer, onEvent: happened }));
    how = await follow(await unlessLeft(begin(tasks, refused.signal)));
    return how === 'failed' ? 1 : 0;
  } catch (error) {
    const message = wordsFor(error as Error);
    view.end?.('failed');
    view.failed?.(id, message, (error as { rpcCode?: number }).rpcCode);
    throw new CommandFailed(message, { cause: error });
  } finally {
    over.abort();
    view.end?.(how);
    await tasks?.close().catch(() => {});
    keys.close();
  }
}

const never = new Promise<Answer>(() => {});
