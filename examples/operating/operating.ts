// A server with traces for a collector, metrics for Prometheus, health checks and logs.
//   OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 npm run example examples/operating/operating.ts
import { parseArgs } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { createTasks, durableTool, type LogEntry } from 'holdfast';
import { serveHttp } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { telemetry } from 'holdfast/telemetry';
import { z } from 'zod';

const { values } = parseArgs({
  options: { db: { type: 'string', default: 'memory:' } },
});

// The program chooses its own SDK, or none.
const provider = new NodeTracerProvider({
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();

const greet = durableTool(
  'greet',
  { inputSchema: z.object({ name: z.string() }) },
  async ({ name }, task) => {
    return task.step('greet', () => `Hello, ${name}!`);
  },
);

const tasks = createTasks({
  store: sqlite(values.db),
  tools: [greet],
  maxStoreSize: '2 GB',
  telemetry: telemetry(),
  log: ({ level, at, ...entry }: LogEntry) => {
    if (level !== 'debug') console.log(JSON.stringify({ level, time: new Date(at).toISOString(), ...entry }));
  },
});
await tasks.work();

const factory = () => {
  const mcp = new McpServer({ name: 'watched', version: '1.0.0' });
  tasks.attach(mcp);
  return mcp;
};

const server = await serveHttp(tasks, factory, { port: 0, metrics: '/metrics', health: true });

const client = new Client({ name: 'caller', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
await client.callTool({
  name: 'greet',
  arguments: { name: 'Kelp' },
  _meta: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
});
await client.close();

const metrics = await (await fetch(new URL('/metrics', server.url))).text();
console.log(
  metrics
    .split('\n')
    .filter((line) => line.startsWith('holdfast_tasks_finished'))
    .join('\n'),
);
console.log(`ready: ${await (await fetch(new URL('/readyz', server.url))).text()}`.trim());

await server.stop();
await provider.shutdown().catch(({ message }) => console.log(`no collector took the traces: ${message}`));
