/**
 * A server of SDK 1.x, on stdio or, with `--port`, over HTTP with sessions. With `--tasks` it has a tool that runs as a
 * task. Its tools record in files what they do.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  type LoggingLevel,
  LoggingLevelSchema,
  SetLevelRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { listen } from '../../kit/port.ts';
import { said, sayInput } from './saying.ts';

const { values } = parseArgs({ options: { port: { type: 'string' }, tasks: { type: 'boolean' } } });

const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });

function toy(): McpServer {
  const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
  const options = values.tasks
    ? { capabilities: { logging: {}, tasks }, taskStore: new InMemoryTaskStore() }
    : { capabilities: { logging: {} } };
  const server = new McpServer({ name: 'toy', version: '1.0.0' }, options);
  if (values.tasks) addTask(server);
  const work = { inputSchema: { file: z.string(), ms: z.number().default(0) } };
  const worked = async ({ file, ms }: { file: string; ms: number }, signal: AbortSignal) => {
    appendFileSync(file, 'begun\n');
    await pause(ms, undefined, { signal }).catch(() => appendFileSync(file, 'cancelled\n'));
    appendFileSync(file, 'done\n');
    return text('worked');
  };
  server.registerTool('write', work, (input, { signal }) => worked(input, signal));
  server.registerTool('look', { ...work, annotations: { readOnlyHint: true } }, (input, { signal }) =>
    worked(input, signal),
  );
  server.registerTool('crash', {}, () => process.exit(1));
  server.registerTool(
    'crash_once',
    { inputSchema: { file: z.string() }, annotations: { idempotentHint: true } },
    ({ file }) => {
      appendFileSync(file, 'tried\n');
      if (readFileSync(file, 'utf8') === 'tried\n') process.exit(1);
      return text('the second time');
    },
  );
  server.registerTool('pid', {}, async () => text(String(process.pid)));
  server.registerTool('ask', {}, async () => {
    const answer = await server.server.elicitInput({
      message: 'Which name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    });
    return text(JSON.stringify(answer));
  });
  server.registerTool('ask_model', {}, async () => {
    const answer = await server.server.createMessage({
      messages: [{ role: 'user', content: { type: 'text', text: 'How is the tide?' } }],
      maxTokens: 10,
    });
    return text(JSON.stringify(answer.content));
  });
  server.registerTool('roots', {}, async () => text(JSON.stringify(await server.server.listRoots())));
  server.registerTool('progress', {}, async (extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let progress = 1; progress <= 4; progress++) {
      if (progressToken !== undefined)
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 4, message: `part ${progress}` },
        });
      await pause(400);
    }
    return text('all parts');
  });
  server.registerTool('fail', {}, async () => ({ ...text('It did not work.'), isError: true }));
  server.registerTool('log', {}, async () => {
    await server.sendLoggingMessage({ level: 'info', data: 'the tide turns' });
    return text('logged');
  });
  addLogs(server);
  server.registerTool('grow', {}, async () => {
    server.registerTool('grown', {}, async () => text('grown'));
    return text('grew');
  });
  return server;
}

async function serveHttp(port: number): Promise<void> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const http = createServer(async (req, res) => {
    const body = req.method === 'POST' ? await json(req) : undefined;
    let transport = sessions.get(String(req.headers['mcp-session-id']));
    if (!transport && req.headers['mcp-session-id'] !== undefined) return void res.writeHead(404).end();
    if (!transport) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void sessions.set(id, opened),
      });
      transport = opened;
      await toy().connect(opened as Parameters<McpServer['connect']>[0]);
    }
    await transport.handleRequest(req, res, body);
  });
  console.log(`ready http://127.0.0.1:${await listen(http, port)}/mcp`);
}

/** Adds a tool that logs messages at or above the current level. */
function addLogs(server: McpServer): void {
  const requested: LoggingLevel[] = [];
  server.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    requested.push(params.level);
    return {};
  });
  server.registerTool('levels', {}, async () => text(JSON.stringify(requested)));
  server.registerTool('say', { inputSchema: sayInput }, async (input, { sendNotification }) => {
    const min = LoggingLevelSchema.options.indexOf(requested.at(-1) ?? 'debug');
    return text(
      await said(input, async (message) => {
        if (LoggingLevelSchema.options.indexOf(message.level) < min) return;
        await sendNotification({ method: 'notifications/message', params: message });
      }),
    );
  });
}

function addTask(server: McpServer): void {
  server.experimental.tasks.registerToolTask(
    'work',
    {
      inputSchema: { file: z.string(), ms: z.number(), fails: z.boolean().optional() },
      execution: { taskSupport: 'required' },
    },
    {
      async createTask({ file, ms, fails = false }, { taskStore, taskRequestedTtl }) {
        const task = await taskStore.createTask({ ttl: taskRequestedTtl ?? 600_000, pollInterval: 50 });
        appendFileSync(file, 'begun\n');
        const result = { ...text('worked'), ...(fails && { isError: true }) };
        setTimeout(() => {
          appendFileSync(file, 'done\n');
          taskStore.storeTaskResult(task.taskId, fails ? 'failed' : 'completed', result).catch(() => {});
        }, ms).unref();
        return { task };
      },
      getTask: (_, { taskId, taskStore }) => taskStore.getTask(taskId),
      getTaskResult: async (_, { taskId, taskStore }) => (await taskStore.getTaskResult(taskId)) as never,
    },
  );
}

if (values.port === undefined) await toy().connect(new StdioServerTransport());
else await serveHttp(Number(values.port));
