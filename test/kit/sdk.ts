import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** The SDK's client over HTTP: `auto` speaks 2026-07-28 where the server does, `legacy` 2025-11-25. */
export async function connectSdk(
  url: URL | string,
  mode: 'auto' | 'legacy' = 'legacy',
  options: ClientOptions = {},
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { ...options, versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}
