/** A client on the other end of a server's standard input and output. */
import { EventEmitter, once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { JsonObject } from '../../../src/model/json.ts';
import { requestOf } from '../../kit/wire.ts';
import { capabilitiesOf, subscriptionId } from './protocol.ts';
import type { Message } from './stream.ts';

export class StdioPeer {
  readonly messages: Message[] = [];
  readonly #input: Writable;
  readonly #lines: Interface;
  readonly #heard = new EventEmitter().setMaxListeners(0);

  constructor(output: Readable, input: Writable) {
    this.#input = input;
    this.#lines = createInterface(output).on('line', (line) => {
      this.messages.push(JSON.parse(line));
      this.#heard.emit('message');
    });
  }

  send(id: string, method: string, params: JsonObject): void {
    this.#input.write(`${JSON.stringify(requestOf(id, method, params, capabilitiesOf(true)))}\n`);
  }

  /** Calls a tool, and gives the id of the task that the call became. */
  async call(name: string, input: JsonObject = {}): Promise<string> {
    this.send('call', 'tools/call', { name, arguments: input });
    const { result } = await this.message(({ id }) => id === 'call');
    return result!.taskId as string;
  }

  /** Resolves when the subscription has been told how the task stands. */
  async listen(id: string, taskId: string): Promise<void> {
    this.send(id, 'subscriptions/listen', { notifications: { taskIds: [taskId] } });
    await this.message((message) => message.method === 'notifications/tasks' && isOf(id, message));
  }

  pause(): void {
    this.#lines.pause();
  }

  resume(): void {
    this.#lines.resume();
  }

  /** The first message of that kind, whether it has come or is still to come. */
  async message(isIt: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.messages.find(isIt);
      if (found) return found;
      await once(this.#heard, 'message');
    }
  }
}

/** True if a message belongs to that subscription. */
export function isOf(id: string, { params }: Message): boolean {
  return (params?._meta as JsonObject | undefined)?.[subscriptionId] === id;
}
