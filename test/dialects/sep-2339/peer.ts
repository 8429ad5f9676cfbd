/** A client that keeps to `tasks/continue`, over whatever carries its requests. */
import type { Message } from '../revision-2025-11-25/peer.ts';

export const draft = 'sep-2339';

export interface Carrier {
  request(method: string, params?: object): Promise<Message>;
}

export const accept = (content: object) => ({ action: 'accept', content });

export class Continuing {
  readonly #carrier: Carrier;

  constructor(carrier: Carrier) {
    this.#carrier = carrier;
  }

  request(method: string, params: object = {}): Promise<Message> {
    return this.#carrier.request(method, params);
  }

  async start(name: string, input: object = {}, task: object = {}): Promise<string> {
    const { result } = await this.request('tools/call', { name, arguments: input, task });
    return result.task.taskId;
  }

  /** What `tasks/continue` answers, with or without answers. */
  continue(taskId: string, inputResponses?: unknown): Promise<Message> {
    return this.request('tasks/continue', {
      taskId,
      ...(inputResponses !== undefined && { inputResponses }),
    });
  }

  async get(taskId: string): Promise<Message> {
    return (await this.request('tasks/get', { taskId })).result;
  }

  /** Goes on until there is something to answer. */
  async questions(taskId: string): Promise<Message> {
    for (;;) {
      const { result } = await this.continue(taskId);
      if (result.inputRequests) return result;
      if (result.status !== 'working') throw new Error(`The task is ${result.status}, and asks nothing.`);
    }
  }

  /** Goes on until the task is done. */
  async end(taskId: string): Promise<Message> {
    for (;;) {
      const { result } = await this.continue(taskId);
      if (result.inputRequests) throw new Error('The task is not done: it asks.');
      if (result.status !== 'working') return result;
    }
  }
}
