/**
 * Follows a call until it ends or the user leaves: shows its progress, answers its questions, and detaches at Ctrl-C.
 * Leaving never cancels the task.
 */

import type { TaskHandle } from '../../client/call-handle.ts';
import type { CallRegistry } from '../../client/call-registry.ts';
import type { Answer, Question } from '../../client/questions/question-callback.ts';
import type { CallEvent, TaskClient } from '../../client/task-client.ts';
import { CommandFailed } from '../usage.ts';
import type { View } from '../views/call-view.ts';
import { Keys } from '../views/terminal.ts';
import { oneLine } from '../views/terminal-text.ts';
import { ask, type PromptTerminal } from './ask.ts';
import { exampleOf, type GivenAnswers } from './given-answers.ts';
import { resumeCommand } from './registry.ts';
import { connectTo, described, type Target } from './target.ts';

export interface CallSession {
  readonly target: Target;
  readonly registry: CallRegistry;
  readonly view: View;
  /** Answers from the command line. */
  readonly given: GivenAnswers;
  /** The terminal to ask questions at; undefined if nobody can be asked. */
  readonly terminal: Omit<PromptTerminal, 'onInterrupt'> | undefined;
  /** True to detach as soon as there is a handle. */
  readonly detaches?: boolean;
}

/** A question that cannot be answered here. The message explains how to answer it. */
class Unanswered extends CommandFailed {}

/** Makes or resumes the call. An aborted `signal` ends a call that has no task yet. */
type Start = (tasks: TaskClient, signal: AbortSignal) => Promise<TaskHandle>;

/**
 * Returns the exit code: 0 if the call completed or the user left it, 1 if the tool returned an error. Throws
 * CommandFailed if there is no result.
 */
export async function followCall(session: CallSession, start: Start): Promise<number> {
  const { view, registry, target, given, terminal, detaches } = session;
  /** Resolves when the user leaves, rejects at a question that cannot be answered here. */
  const halted = Promise.withResolvers<'left'>();
  halted.promise.catch(() => {});
  const ended = new AbortController();
  /** Aborts a call that asks a question before its task exists. */
  const refused = new AbortController();
  const interrupted = () => {
    ended.abort();
    halted.resolve('left');
  };
  const keys = new Keys(terminal?.input, { interrupted });
  /** Resolves when the last queued question is answered: questions of several tasks are asked one after the other. */
  let turn: Promise<unknown> = Promise.resolve();
  /** The id of the handle; undefined until the call is saved in the registry. */
  let id: string | undefined;

  const onEvent = ({ event, handle, taskId, tool, at }: CallEvent) => {
    if (event === 'called' || event === 'resumed') {
      id = handle;
      view.called?.({ id, tool: tool ?? '', since: registry.get(id)?.createdAt ?? at });
    }
    if ((event === 'task' || event === 'resumed') && taskId !== undefined) view.taskCreated(handle, taskId);
  };

  // --- Leaving --------------------------------------------------------------------------------------------

  const printDetached = (id: string) => {
    const what =
      'url' in target.upstream
        ? 'the task continues.'
        : 'the server stopped with this command; the task resumes when the server starts again.';
    view.detached(id, resumeCommand('watch', id, session), what);
  };
  /**
   * Waits for a promise. If the user leaves first, exits the process. A call that was already sent stays in the
   * registry.
   */
  const unlessLeft = async <T extends object>(started: Promise<T>): Promise<T> => {
    started.catch(() => {});
    const first = await Promise.race([started, halted.promise]);
    if (first !== 'left') return first;
    view.end?.('left');
    if (id !== undefined) printDetached(id);
    else console.error('holdfast: Stopped before the tool was called.');
    // Exits without closing: closing can take time and would make the call look refused.
    process.exit(id === undefined ? 1 : 0);
  };
  /** Shows all updates, and returns the result. */
  const toTheEnd = async (handle: TaskHandle) => {
    for await (const update of handle.updates()) view.update(update);
    return handle.result();
  };
  const follow = async (handle: TaskHandle): Promise<'completed' | 'failed' | 'left'> => {
    const result = detaches ? 'left' : await Promise.race([toTheEnd(handle), halted.promise]);
    if (result === 'left') {
      if (!detaches) handle.detach();
      view.end?.('left');
      if (detaches) view.handle?.(handle.id);
      printDetached(handle.id);
      return 'left';
    }
    const how = result.isError ? 'failed' : 'completed';
    view.end?.(how);
    view.result(handle.id, result);
    return how;
  };
  /** The message of the error, with the command to resume the call if it is still open. */
  const messageFor = (error: Error) => {
    const message = oneLine(error.message);
    const record = id === undefined ? undefined : registry.get(id);
    if (error instanceof Unanswered || !record || record.ending) return message;
    return `${message} Resume with: ${resumeCommand('watch', record.id, session)}`;
  };

  // --- Questions ------------------------------------------------------------------------------------------

  const askPerson = async (
    question: Question,
    terminal: Omit<PromptTerminal, 'onInterrupt'>,
    signal: AbortSignal,
  ) => {
    signal.throwIfAborted();
    view.pause?.();
    keys.rest();
    try {
      return await ask(question, signal, { ...terminal, onInterrupt: keys.interrupt });
    } catch (error) {
      if (signal.aborted && !ended.signal.aborted)
        view.message?.('The question was answered elsewhere or withdrawn.');
      throw error;
    } finally {
      if (!ended.signal.aborted) {
        keys.listen();
        view.resume?.();
      }
    }
  };
  /** The error message for a question that cannot be answered here. */
  const howToAnswer = (question: Question) => {
    const { key, problem, taskId } = question;
    const about = 'message' in question && question.message !== '' ? ` (${oneLine(question.message)})` : '';
    if (problem !== undefined)
      return `The server refused the answer to "${oneLine(key)}": ${oneLine(problem)}`;
    const example = exampleOf(question);
    if (taskId === undefined || id === undefined)
      return `The tool asks "${oneLine(key)}"${about} before it starts: call it again with --answer ${example}.`;
    const command = resumeCommand('answer', id, session, example);
    return `The task is waiting for an answer to "${oneLine(key)}"${about}: use --answer, or run ${command}`;
  };
  const answer = async (question: Question, signal: AbortSignal): Promise<Answer> => {
    const found = given(question);
    if (found && question.problem === undefined) {
      view.asked?.(question);
      return found;
    }
    if (!found && terminal) {
      const answered = turn.then(() =>
        askPerson(question, terminal, AbortSignal.any([signal, ended.signal])),
      );
      turn = answered.catch(() => {});
      // Leaving does not refuse the question: it is asked again later.
      return answered.catch((error: unknown) => (ended.signal.aborted ? never : Promise.reject(error)));
    }
    view.asked?.(question);
    halted.reject(new Unanswered(howToAnswer(question)));
    if (question.taskId === undefined) {
      // There is no task yet, so there is nothing to resume.
      refused.abort();
      if (id !== undefined) registry.delete(id);
    }
    return never;
  };

  // --- The whole call -------------------------------------------------------------------------------------

  keys.listen();
  let tasks: TaskClient | undefined;
  let how: 'completed' | 'failed' | 'left' = 'failed';
  try {
    view.connecting?.(described(target));
    tasks = await unlessLeft(connectTo(target, { registry, answer, onEvent }));
    how = await follow(await unlessLeft(start(tasks, refused.signal)));
    return how === 'failed' ? 1 : 0;
  } catch (error) {
    const message = messageFor(error as Error);
    view.end?.('failed');
    view.failed?.(id, message, (error as { rpcCode?: number }).rpcCode);
    throw new CommandFailed(message, { cause: error });
  } finally {
    ended.abort();
    view.end?.(how);
    await tasks?.close().catch(() => {});
    keys.close();
  }
}

/** Leaves a question open: it is neither answered nor refused. */
const never = new Promise<Answer>(() => {});
