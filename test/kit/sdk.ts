import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** The SDK's client: `auto` speaks 2026-07-28 where the server does, `legacy` 2025-11-25. */
export function sdkClient(mode: 'auto' | 'legacy' = 'legacy', options: ClientOptions = {}): Client {
  return new Client({ name: 'test', version: '1' }, { ...options, versionNegotiation: { mode } });
}

/** … connected over HTTP. */
export async function connectSdk(url: URL | string, ...how: Parameters<typeof sdkClient>): Promise<Client> {
  const client = sdkClient(...how);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}
