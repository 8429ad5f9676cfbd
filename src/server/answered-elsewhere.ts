/**
 * Answers to questions that another process put: the requests of a session go wherever a load balancer sends them, and
 * so do its answers. They are applied here, if the stream still stands on which the question was put; whoever put it
 * sees that it is answered, and takes it back. An answer that does not fit, and a task that a client made of a
 * question, are for whoever put it alone.
 */
import type { Requests } from '../engine/requests.ts';
import type { Caller } from '../hosting/caller.ts';
import { answerQuestions, visible } from '../hosting/task-methods.ts';
import type { InputRecord } from '../model/input.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { questionsOf } from '../protocol/collapse.ts';
import type { QuestionPlace } from './request-ids.ts';

export async function answeredElsewhere(
  requests: Requests,
  caller: Caller,
  place: QuestionPlace,
  message: object,
): Promise<void> {
  const tree = await visible(requests, caller, place.taskId);
  const question = tree && questionsOf(tree).find(({ key }) => key === place.key);
  if (!question) return;
  const { key, taskId, ownKey, request } = question;
  const asker = [tree.root, ...tree.descendants].find((task) => task.id === taskId)!;
  const input = (asker.inputs as readonly InputRecord[]).find((one) => one.key === ownKey);
  if (input?.state !== 'open' || input.delivery?.stream !== place.stream) return;
  const { result, error } = message as JsonObject;
  if (isJsonObject(result)) {
    const { _meta, ...answer } = result;
    if (!isJsonObject(answer.task)) await answerQuestions(requests, tree, { [key]: answer }, caller);
  } else if (isJsonObject(error)) {
    // The client cannot ask anybody, or nobody wanted to be asked.
    const isForm = request.kind === 'form' || request.kind === 'url';
    if (isForm) await answerQuestions(requests, tree, { [key]: { action: 'cancel' } }, caller);
    else await requests.withdraw(taskId, ownKey);
  }
}
