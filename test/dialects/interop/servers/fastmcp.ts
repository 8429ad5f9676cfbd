/** A server that knows no tasks. */
import { FastMCP } from 'fastmcp';
import { z } from 'zod';

const server = new FastMCP({ name: 'adder', version: '1.0.0' });
server.addTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a + b),
});
server.addTool({
  name: 'throws',
  description: 'Fails.',
  parameters: z.object({}),
  execute: async () => {
    throw new Error('It always fails.');
  },
});
await server.start({ transportType: 'stdio' });
