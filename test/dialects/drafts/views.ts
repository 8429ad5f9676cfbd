/** One owner's tasks through each dialect: how a client of it makes, reads, answers and cancels them. */
import type { Tasks } from 'holdfast';
import { expect } from 'vitest';
import { type Message, messagesIn } from '../../kit/wire.ts';
import { faces, type Place } from '../../owners/faces.ts';

export const dialects = Object.keys(faces);

export interface Scene extends Place {
  readonly tasks: Tasks;
  readonly owner: string;
}

export async function viewOf(dialect: string, { tasks, owner, ...place }: Scene) {
  const face = await faces[dialect]!(place);
  const isOriginal = dialect === 'SEP-1686';
  const isLater = dialect.startsWith('2026-07-28');
  const isContinued = dialect === 'SEP-2339' || dialect === 'all drafts';
  const comesUnasked = dialect === 'SEP-2229' || dialect === 'all drafts';
  let sent = 0;

  async function* exchange(method: string, params: object): AsyncGenerator<Message> {
    yield* messagesIn(await face.send({ id: `look ${++sent}`, method, params }));
  }
  /** The answer, whatever comes before it. */
  const ask = async (method: string, params: object): Promise<Message> =>
    (await Array.fromAsync(exchange(method, params))).at(-1)!;
  const idsInStore = async () => (await tasks.list({ owner, limit: 100 })).tasks.map(({ id }) => id);

  return {
    /** Makes a task and gives the id that the server knows it by. */
    async start(name: string, input: object = {}): Promise<string> {
      const call = { name, arguments: input, ...(comesUnasked ? {} : face.asTask(`mine ${sent}`)) };
      const known = await idsInStore();
      const answered = ask('tools/call', call);
      if (!isOriginal) {
        const { result } = await answered;
        return result.task?.taskId ?? result.taskId;
      }
      // The requestor made up an id that nobody else knows, and is answered when the task is done.
      answered.catch(() => {});
      const made = async () => (await idsInStore()).find((id) => !known.includes(id));
      await expect.poll(made).toBeDefined();
      return (await made())!;
    },
    /** The status, or the error of a look. */
    async look(taskId: string): Promise<string | number> {
      const { result, error } = await ask('tasks/get', face.about(taskId));
      return result?.status ?? error.code;
    },
    async outcome(taskId: string): Promise<string> {
      const method = isContinued ? 'tasks/continue' : isLater ? 'tasks/get' : 'tasks/result';
      const { result } = await ask(method, face.about(taskId));
      return (result.result ?? result).content[0].text;
    },
    /** Are questions put to it? Then it hears of none that is on another stream. */
    isAsked: !isLater && !isContinued,
    /** Answers the question `name`; not where questions come only on a stream that the client has not opened. */
    answer:
      !isOriginal &&
      (async (taskId: string, content: object) => {
        const name = { action: 'accept', content };
        const given = { ...face.about(taskId), inputResponses: { name } };
        if (isLater || isContinued) return ask(isLater ? 'tasks/update' : 'tasks/continue', given);
        for await (const { id, method } of exchange('tasks/result', face.about(taskId)))
          if (method === 'elicitation/create') await face.send({ id, result: name });
      }),
    cancel: !isOriginal && ((taskId: string) => ask('tasks/cancel', face.about(taskId))),
  };
}
