/** A server of the SDK's first generation with a tool that is a task in its store. */
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer(
  { name: 'sdk-1', version: '1.0.0' },
  {
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore: new InMemoryTaskStore(),
  },
);
server.experimental.tasks.registerToolTask(
  'work',
  {
    description: 'Works for a while.',
    inputSchema: { ms: z.number(), fails: z.boolean().optional() },
    execution: { taskSupport: 'required' },
  },
  {
    async createTask({ ms, fails = false }, { taskStore, taskRequestedTtl }) {
      const task = await taskStore.createTask({ ttl: taskRequestedTtl ?? 60_000, pollInterval: 50 });
      const result = {
        content: [{ type: 'text' as const, text: 'worked' }],
        ...(fails && { isError: true }),
      };
      setTimeout(() => {
        taskStore.storeTaskResult(task.taskId, fails ? 'failed' : 'completed', result).catch(() => {});
      }, ms).unref();
      return { task };
    },
    getTask: (_, { taskId, taskStore }) => taskStore.getTask(taskId),
    getTaskResult: async (_, { taskId, taskStore }) => (await taskStore.getTaskResult(taskId)) as never,
  },
);
await server.connect(new StdioServerTransport());
