/** A client that keeps to `tasks/continue`, over whatever carries its requests. */
import type { Message } from '../revision-2025-11-25/peer.ts';

export const draft = 'sep-2339' as const;

export const accept = (content: object) => ({ action: 'accept', content });

export class Continuing {
  readonly request: (method: string, params?: object) => Promise<Message>;

  constructor(carrier: Pick<Continuing, 'request'>) {
    this.request = (method, params = {}) => carrier.request(method, params);
  }

  async start(name: string, input: object = {}, task: object = {}): Promise<string> {
    const { result } = await this.request('tools/call', { name, arguments: input, task });
    return result.task.taskId;
  }

  /** What `tasks/continue` answers, with or without answers. */
  continue(taskId: string, inputResponses?: unknown): Promise<Message> {
    return this.request('tasks/continue', { taskId, inputResponses });
  }

  async get(taskId: string): Promise<Message> {
    return (await this.request('tasks/get', { taskId })).result;
  }

  async questions(taskId: string): Promise<Message> {
    const result = await this.#goOn(taskId);
    if (!result.inputRequests) throw new Error(`The task is ${result.status}, and asks nothing.`);
    return result;
  }

  async end(taskId: string): Promise<Message> {
    const result = await this.#goOn(taskId);
    if (result.inputRequests) throw new Error('The task is not done: it asks.');
    return result;
  }

  async #goOn(taskId: string): Promise<Message> {
    for (;;) {
      const { result } = await this.continue(taskId);
      if (result.inputRequests || result.status !== 'working') return result;
    }
  }
}
