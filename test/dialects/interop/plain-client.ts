/** The SDK's client on 2026-07-28, which knows nothing of tasks. It accepts whatever it is asked. */
import { equal } from 'node:assert/strict';
import type { Client } from '@modelcontextprotocol/client';
import { connectSdk } from '../../kit/sdk.ts';

type Options = Parameters<Client['callTool']>[1];

export async function connectPlain(url: URL, content: Record<string, string | boolean> = { confirm: true }) {
  const client = await connectSdk(url, 'auto', { capabilities: { elicitation: { form: {} } } });
  const asked: string[] = [];
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content };
  });
  equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
  return {
    client,
    asked: asked as readonly string[],
    call: (name: string, input: Record<string, unknown> = {}, options?: Options) =>
      client.callTool({ name, arguments: input }, options),
    [Symbol.asyncDispose]: () => client.close(),
  };
}
