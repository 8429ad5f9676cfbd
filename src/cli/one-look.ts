/** Commands that come back to a call for a moment: a look at the whole tree, an answer, a cancellation. */

import type { Question } from '../client/asking.ts';
import type { TaskHandle } from '../client/handle.ts';
import type { HandleRecord, Handles } from '../client/handles.ts';
import type { TaskClient } from '../client/task-client.ts';
import { TaskCancelled, UnknownQuestion } from '../requestor/errors.ts';
import type { TaskUpdate } from '../requestor/pursuit.ts';
import type { GivenAnswers } from './given-answers.ts';
import { jsonText } from './json-line.ts';
import { oneLine } from './live/width.ts';
import { connectTo, type Target } from './target.ts';
import { CommandFailed } from './usage.ts';

interface On {
  readonly handles: Handles;
  readonly target: Target;
  readonly json: boolean;
}

/** Whoever only looks does not wait for a server that is away. */
const patience = '5s';
const never = new Promise<never>(() => {});

export async function visiting<T>(
  record: HandleRecord,
  { handles, target }: Omit<On, 'json'>,
  onQuestion: (question: Question) => Promise<never> | { readonly action: string },
  visit: (handle: TaskHandle, tasks: TaskClient) => Promise<T>,
): Promise<T> {
  const tasks = await connectTo(target, { handles, answer: onQuestion, unreachableFor: patience });
  try {
    return await visit(await tasks.resume(record.id), tasks);
  } catch (error) {
    throw error instanceof CommandFailed ? error : new CommandFailed(oneLine((error as Error).message));
  } finally {
    await tasks.close().catch(() => {});
  }
}

/** Knows when every task of a tree has been looked at once. */
export class FirstLook {
  readonly #seen = new Set<string>();
  readonly #unseen = new Set<string>();
  readonly #waiting = new Set<string>();

  constructor(rootId: string | undefined) {
    if (rootId !== undefined) this.#unseen.add(rootId);
  }

  see(update: TaskUpdate): void {
    if (update.type !== 'status') return;
    const { taskId, status, childIds } = update.task;
    this.#seen.add(taskId);
    this.#unseen.delete(taskId);
    for (const id of childIds) if (!this.#seen.has(id)) this.#unseen.add(id);
    if (status === 'input_required') this.#waiting.add(taskId);
    else this.#waiting.delete(taskId);
  }

  get isComplete(): boolean {
    return this.#unseen.size === 0;
  }

  /** Does any of them wait for an answer? */
  get isAsked(): boolean {
    return this.#waiting.size > 0;
  }
}

// --- Answering --------------------------------------------------------------------------------------------

export async function answer(
  record: HandleRecord,
  on: On & { readonly given: GivenAnswers },
): Promise<number> {
  const answered: Question[] = [];
  const refused = Promise.withResolvers<never>();
  refused.promise.catch(() => {});
  const onQuestion = (question: Question) => {
    const { key, problem } = question;
    const given = problem === undefined ? on.given.answerTo(question) : undefined;
    if (given) {
      answered.push(question);
      return given as { action: string };
    }
    refused.reject(
      new CommandFailed(
        problem === undefined
          ? `It asks "${oneLine(key)}" too, and there is no answer to that.`
          : `The server refused the answer to "${oneLine(key)}": ${oneLine(problem)}`,
      ),
    );
    return never;
  };
  await visiting(record, on, onQuestion, (handle) =>
    Promise.race([untilTaken(handle, () => answered.length > 0), refused.promise]),
  );
  for (const { key } of answered)
    console.log(
      on.json ? jsonText({ event: 'answered', id: record.id, key }) : `Answered "${oneLine(key)}".`,
    );
  return 0;
}

/** Until what was answered has been taken, or it is clear that nothing is asked. */
async function untilTaken(handle: TaskHandle, isAnswered: () => boolean): Promise<void> {
  const look = new FirstLook(handle.taskId);
  for await (const update of handle.updates()) {
    look.see(update);
    if (update.type === 'unreachable') throw new CommandFailed(oneLine(update.why));
    if (update.type === 'answered') return;
    if (!look.isComplete || look.isAsked) continue;
    // In 2025-11-25 a question comes as a request, and only the status tells that its answer was taken.
    if (isAnswered()) return;
    throw new CommandFailed('It asks nothing at the moment.');
  }
  if (!isAnswered()) throw new CommandFailed('It is over, and asks nothing.');
}

// --- Cancelling -------------------------------------------------------------------------------------------

export async function cancel(record: HandleRecord, on: On): Promise<number> {
  return visiting(
    record,
    on,
    () => never,
    async (handle, tasks) => {
      await handle.cancel();
      try {
        await handle.result().catch(async (error: unknown) => {
          // It may have been seen before the server took the cancellation.
          if (!(error instanceof UnknownQuestion)) throw error;
          await (await tasks.resume(record.id)).result();
        });
      } catch (error) {
        if (!(error instanceof TaskCancelled)) throw error;
        console.log(
          on.json ? JSON.stringify({ event: 'cancelled', id: record.id }) : `Cancelled ${record.id}.`,
        );
        return 0;
      }
      throw new CommandFailed(
        'It was done before it could be cancelled; `holdfast tasks result` prints what came of it.',
      );
    },
  );
}
