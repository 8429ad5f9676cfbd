/** A client on the other end of a server's standard input and output. */
import type { Readable, Writable } from 'node:stream';
import type { JsonObject } from '../../../src/model/json.ts';
import { Inbox } from '../../kit/inbox.ts';
import type { Message } from '../../kit/wire.ts';
import { rawMessage } from '../../serving/raw-client.ts';
import { subscriptionId } from './protocol.ts';

export class StdioPeer extends Inbox {
  readonly #input: Writable;

  constructor(output: Readable, input: Writable) {
    super(output);
    this.#input = input;
  }

  send(id: string, method: string, params: JsonObject): void {
    this.#input.write(`${JSON.stringify({ ...rawMessage(method, params), id })}\n`);
  }

  /** Calls a tool, and gives the id of the task that the call became. */
  async call(name: string, input: JsonObject = {}): Promise<string> {
    this.send('call', 'tools/call', { name, arguments: input });
    return (await this.message(({ id }) => id === 'call')).result.taskId;
  }

  /** Resolves when the subscription has been told how the task stands. */
  async listen(id: string, taskId: string): Promise<void> {
    this.send(id, 'subscriptions/listen', { notifications: { taskIds: [taskId] } });
    await this.message((message) => message.method === 'notifications/tasks' && isOf(id, message));
  }
}

/** True if a message belongs to that subscription. */
export function isOf(id: string, { params }: Message): boolean {
  return params?._meta?.[subscriptionId] === id;
}
