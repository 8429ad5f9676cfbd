/** Questions that a server puts to its client as requests, and those that a client finds: one callback for both. */
import type { Client } from '@modelcontextprotocol/client';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { relatedTaskKey as related2025 } from '../protocol/dialects/2025-11-25/names.ts';
import { relatedTaskKey as related1686 } from '../protocol/dialects/sep-1686/names.ts';
import type { Answering } from '../requestor/asked.ts';
import type { RemoteRequest, RemoteTask } from '../requestor/remote-task.ts';
import { type AnswerQuestion, asQuestion, keyOf, type QuestionKind } from './asking.ts';
import type { HandleRecord } from './handles.ts';

/** Where the answers of a handle are kept. */
interface Kept {
  get(): HandleRecord | undefined;
  save(record: HandleRecord): void;
}

const methods: Readonly<Record<QuestionKind, string>> = {
  form: 'elicitation/create',
  url: 'elicitation/create',
  sampling: 'sampling/createMessage',
  roots: 'roots/list',
};

export class PushedQuestions {
  readonly #answer: AnswerQuestion | undefined;
  readonly #keptFor: (taskId: string) => Kept | undefined;
  /** Questions that are being answered: a second delivery of the same waits for the first. */
  readonly #asking = new Map<string, Promise<JsonObject>>();

  constructor(
    client: Client,
    answer: AnswerQuestion | undefined,
    kinds: readonly QuestionKind[],
    keptFor: (taskId: string) => Kept | undefined,
  ) {
    this.#answer = answer;
    this.#keptFor = keptFor;
    for (const method of new Set(kinds.map((kind) => methods[kind])))
      client.setRequestHandler(method as 'elicitation/create', (request, context) => {
        // The SDK takes metadata out of the params.
        const params = (request.params ?? {}) as unknown as JsonObject;
        const meta = (context.mcpReq._meta ?? params._meta) as JsonObject | undefined;
        return this.#pushed(method, params, meta, context.mcpReq.signal) as never;
      });
  }

  /** Answers, or rejects: nobody can, or nobody wanted to. */
  async answer(
    question: RemoteRequest & { readonly taskId?: string; readonly key: string; readonly problem?: string },
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const asked = asQuestion(question);
    if (!asked || !this.#answer) throw new Error(`Nobody here can answer ${question.method}.`);
    return this.#answer(asked, signal);
  }

  /** How a pursuit answers what it finds. */
  answeringOf(get: () => HandleRecord | undefined, save: (record: HandleRecord) => void): Answering {
    const at = (taskId: string, key: string) => `${taskId} ${key}`;
    const change = (answers: (now: HandleRecord['answers']) => HandleRecord['answers']) => {
      const record = get();
      if (record) save({ ...record, answers: answers(record.answers) });
    };
    return {
      answer: (question, signal) => this.answer(question, signal),
      recall: (taskId, key) => get()?.answers[at(taskId, key)],
      remember: (taskId, key, answer) => change((answers) => ({ ...answers, [at(taskId, key)]: answer })),
      forget: (taskId, key) =>
        change((answers) => {
          const { [at(taskId, key)]: _, ...others } = answers;
          return others;
        }),
    };
  }

  /** A task that goes on has taken its answers: the same question would be another one. */
  statusSeen({ taskId, status }: RemoteTask): void {
    if (status === 'input_required') return;
    const kept = this.#keptFor(taskId);
    const record = kept?.get();
    if (!record) return;
    const isPushed = (key: string) => key.startsWith(`${taskId} ~`);
    if (!Object.keys(record.answers).some(isPushed)) return;
    const answers = Object.fromEntries(Object.entries(record.answers).filter(([key]) => !isPushed(key)));
    kept!.save({ ...record, answers });
  }

  async #pushed(
    method: string,
    params: JsonObject,
    meta: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const key = await keyOf(method, params);
    const taskId = taskIn(meta);
    const id = `${taskId} ${key}`;
    const kept = taskId === undefined ? undefined : this.#keptFor(taskId);
    const before = kept?.get()?.answers[id] ?? (await this.#asking.get(id)?.catch(() => undefined));
    if (before) return before;
    const asking = this.answer({ method, params, key, ...(taskId !== undefined && { taskId }) }, signal);
    this.#asking.set(id, asking);
    try {
      const answer = await asking;
      const record = kept?.get();
      if (record) kept!.save({ ...record, answers: { ...record.answers, [id]: answer } });
      return answer;
    } catch (error) {
      if (method === 'elicitation/create') return { action: 'cancel' };
      throw error;
    } finally {
      this.#asking.delete(id);
    }
  }
}

function taskIn(meta: JsonObject | undefined): string | undefined {
  const related = meta?.[related2025] ?? meta?.[related1686];
  return isJsonObject(related) && typeof related.taskId === 'string' ? related.taskId : undefined;
}
