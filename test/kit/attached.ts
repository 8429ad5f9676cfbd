/** Servers of the SDK with nothing but durable tools. */
import { McpServer } from '@modelcontextprotocol/server';
import type { AttachOptions, Tasks } from '../../src/index.ts';

export function attached(tasks: Tasks, options?: AttachOptions): () => McpServer {
  return () => {
    const mcp = new McpServer({ name: 'test', version: '1' });
    tasks.attach(mcp, options);
    return mcp;
  };
}
