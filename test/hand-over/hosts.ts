/** Real clients that know no tasks, each as a host uses it: one call at a time, given up after a while. */
import { createMCPClient } from '@ai-sdk/mcp';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { connectMcpc, session } from '../dialects/interop/command-line.ts';
import { Peer } from '../dialects/revision-2025-11-25/peer.ts';
import type { Call, Result } from './script.ts';

export interface Host extends AsyncDisposable {
  readonly call: Call;
}

/** Connects, and gives a call up that is not answered within `giveUpMs`. */
export type Connect = (url: URL, giveUpMs: number) => Promise<Host>;

export const hosts: Readonly<Record<string, Connect>> = {
  'SDK 1.x': async (url, giveUpMs) => {
    const client = new Client({ name: 'host', version: '1' });
    const transport = new StreamableHTTPClientTransport(url);
    await client.connect(transport as Parameters<Client['connect']>[0]);
    await client.listTools();
    return {
      call: async (name, input) =>
        (await client.callTool({ name, arguments: { ...input } }, undefined, {
          timeout: giveUpMs,
          resetTimeoutOnProgress: false,
        })) as Result,
      [Symbol.asyncDispose]: () => client.close(),
    };
  },

  mcpc: async (url, giveUpMs) => {
    const client = await connectMcpc(url);
    const seconds = String(giveUpMs / 1_000);
    return {
      call: async (name, input) => {
        const words = [session, 'tools-call', name, JSON.stringify(input), '--timeout', seconds];
        const { code, answer } = await client.run(...words);
        if (code !== 0) throw new Error(JSON.stringify(answer));
        return answer as unknown as Result;
      },
      [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
    };
  },

  'AI SDK': async (url, giveUpMs) => {
    const client = await createMCPClient({
      transport: { type: 'http', url: url.href },
      // It asks for a stream before it has a session, and reports the refusal.
      onUncaughtError: () => {},
    });
    const tools = await client.tools();
    return {
      call: async (name, input) => {
        const abortSignal = AbortSignal.timeout(giveUpMs);
        const answered = tools[name]!.execute(input, { toolCallId: 'call', messages: [], abortSignal });
        const { promise: late, reject } = Promise.withResolvers<never>();
        abortSignal.addEventListener('abort', () => reject(abortSignal.reason));
        return (await Promise.race([answered, late])) as Result;
      },
      [Symbol.asyncDispose]: () => client.close(),
    };
  },

  'raw 2025-06-18': async (url, giveUpMs) => {
    const peer = new Peer(url.href, { capabilities: {}, protocolVersion: '2025-06-18' });
    await peer.open();
    return {
      call: async (name, input) => {
        const params = { name, arguments: input };
        const { message } = await peer.send('tools/call', params, AbortSignal.timeout(giveUpMs));
        if (message.error) throw new Error(message.error.message);
        return message.result as Result;
      },
      [Symbol.asyncDispose]: async () => {},
    };
  },
};
