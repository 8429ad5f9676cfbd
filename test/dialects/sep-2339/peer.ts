/** A client that keeps to `tasks/continue`, over whatever carries its requests. */
import type { Message } from '../revision-2025-11-25/peer.ts';

export const draft = 'sep-2339' as const;

export const accept = (content: object) => ({ action: 'accept', content });

export interface Carrier {
  request(method: string, params?: object): Promise<Message>;
}

export type Continuing = ReturnType<typeof continuing>;

export function continuing(carrier: Carrier) {
  const request = (method: string, params: object = {}) => carrier.request(method, params);
  const go = (taskId: string, inputResponses?: unknown) =>
    request('tasks/continue', { taskId, inputResponses });
  const goOn = async (taskId: string): Promise<Message> => {
    for (;;) {
      const { result } = await go(taskId);
      if (result.inputRequests || result.status !== 'working') return result;
    }
  };
  return {
    request,
    start: async (name: string, input: object = {}, task: object = {}): Promise<string> =>
      (await request('tools/call', { name, arguments: input, task })).result.task.taskId,
    /** With or without answers. */
    continue: go,
    get: async (taskId: string): Promise<Message> => (await request('tasks/get', { taskId })).result,
    async questions(taskId: string): Promise<Message> {
      const result = await goOn(taskId);
      if (!result.inputRequests) throw new Error(`The task is ${result.status}, and asks nothing.`);
      return result;
    },
    async end(taskId: string): Promise<Message> {
      const result = await goOn(taskId);
      if (result.inputRequests) throw new Error('The task is not done: it asks.');
      return result;
    },
  };
}
