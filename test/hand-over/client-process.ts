/** A host as a process of its own, with SDK 1.x: it calls `chapters` once and prints what it got. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

export interface ClientSettings {
  readonly url?: string;
  readonly token?: string;
  /** The server to start, if it is one on stdio. */
  readonly command?: readonly string[];
  readonly input: Readonly<Record<string, unknown>>;
}

const { url, token, command, input } = JSON.parse(process.argv[2]!) as ClientSettings;
const headers = { authorization: `Bearer ${token}` };
const transport = command
  ? new StdioClientTransport({ command: command[0]!, args: command.slice(1) })
  : new StreamableHTTPClientTransport(new URL(url!), { requestInit: { headers } });
const client = new Client({ name: 'host', version: '1' });
await client.connect(transport as Parameters<Client['connect']>[0]);
const call = { name: 'chapters', arguments: input };
const { structuredContent } = await client.callTool(call, undefined, { timeout: 600_000 });
console.log(JSON.stringify(structuredContent));
await client.close();
