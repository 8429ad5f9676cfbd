/** Servers of the SDK with nothing but durable tools. */
import { McpServer } from '@modelcontextprotocol/server';
import type { Tasks } from '../../src/index.ts';

export function servingFactory(tasks: Tasks): () => McpServer {
  return () => {
    const mcp = new McpServer({ name: 'serving', version: '1' });
    tasks.attach(mcp);
    return mcp;
  };
}
