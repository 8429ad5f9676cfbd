/** Servers of the SDK with nothing but durable tools. */
import { McpServer } from '@modelcontextprotocol/server';
import type { AttachOptions, Tasks } from '../../src/index.ts';

export function attached(tasks: Tasks, options?: AttachOptions, name = 'test'): () => McpServer {
  return () => {
    const mcp = new McpServer({ name, version: '1.0.0' });
    tasks.attach(mcp, options);
    return mcp;
  };
}
