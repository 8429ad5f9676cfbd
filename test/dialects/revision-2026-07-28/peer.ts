/** A client of 2026-07-28 that sends exactly what it is told, and a server to send it to. */

import { serveFixture } from '../../kit/serve.ts';
import { extension, type Message } from '../../kit/wire.ts';
import { messagesOf, RawClient } from '../../serving/raw-client.ts';

export { extension, revision } from '../../kit/wire.ts';

export const withTasks = { extensions: { [extension]: {} }, elicitation: { form: {} }, sampling: {} };
export const withoutTasks = { elicitation: { form: {} } };

export class Peer extends RawClient {
  constructor(url: string, capabilities: object, headers: Readonly<Record<string, string>> = {}) {
    const meta = { 'io.modelcontextprotocol/clientInfo': { name: 'peer', version: '1' } };
    super(url, { tasks: false, capabilities, headers, meta });
  }

  async start(name: string, input: object = {}): Promise<string> {
    return (await this.call(name, input)).result.taskId;
  }

  async *frames(notifications: object): AsyncGenerator<Message> {
    const { response, cut } = this.post('subscriptions/listen', { notifications });
    try {
      yield* messagesOf(await response);
    } finally {
      cut();
    }
  }
}

/** The fixture server until the end of the test, a client that takes tasks and answers questions, and a plain one. */
export async function served(options: Parameters<typeof serveFixture>[0] = {}) {
  const server = await serveFixture(options);
  const { url } = server;
  return { ...server, peer: new Peer(url, withTasks), plain: new Peer(url, withoutTasks) };
}
