/**
 * `before(input, ask)`: what a tool gathers from its caller before there is a task. It runs anew with each answer; a
 * question without one ends the run, and the caller is asked all that were put by then.
 */
import { inputRequest, type Question, readAnswer, type TaskContext } from '../engine/context.ts';
import type { DurableTool } from '../engine/tool.ts';
import { answerProblem } from '../model/answer.ts';
import { BadAnswer } from '../model/errors.ts';
import type { InputRequest, InputResponse } from '../model/input.ts';
import type { JsonObject } from '../model/json.ts';
import type { SecretFields } from '../model/redaction.ts';
import { runtime } from '../model/runtime.ts';
import type { Sender } from '../protocol/dialect.ts';
import { cannotBeAsked } from '../protocol/errors.ts';

/** What it returned, if anything; or what has to be asked first. */
export type Gathered = { readonly returned: unknown } | { readonly open: ReadonlyMap<string, InputRequest> };

export async function gather(
  {
    before,
    secrets,
  }: { readonly before: NonNullable<DurableTool['before']>; readonly secrets: SecretFields },
  input: unknown,
  answers: JsonObject,
  sender: Sender,
): Promise<Gathered> {
  const open = new Map<string, InputRequest>();
  const { promise: stalled, resolve } = Promise.withResolvers<Gathered>();

  const ask = async (key: string, question: Question): Promise<unknown> => {
    const request = inputRequest(key, question);
    if (!sender.answers.includes(request.kind)) throw cannotBeAsked(key, request.kind);
    if (Object.hasOwn(answers, key)) {
      const problem = answerProblem(request, answers[key] as InputResponse);
      if (problem) throw new BadAnswer(key, problem);
      return readAnswer(key, question, answers[key], secrets);
    }
    open.set(key, request);
    // Whatever else is asked at the same time is asked in the same round.
    runtime.setImmediate(() => resolve({ open }));
    return new Promise(() => {});
  };

  const run = async (): Promise<Gathered> => ({
    returned: await before(input as never, ask as TaskContext['ask']),
  });
  return Promise.race([run(), stalled]);
}
