/** A server with telemetry, as a process of its own: `node server.ts '{"file":"tasks.db","otlp":"http://…"}'`. */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';
import { createTasks, durableTool } from '../../src/index.ts';
import { serveHttp } from '../../src/server.ts';
import { sqlite } from '../../src/sqlite.ts';
import { telemetry } from '../../src/telemetry.ts';
import { attached } from '../kit/attached.ts';

export interface TelemetryServerSettings {
  readonly file: string;
  /** Where spans go. Without it there is no SDK. */
  readonly otlp?: string;
  /** Spans wait to be sent together, and are lost with the process. */
  readonly batch?: boolean;
  /** The crossing never ends. */
  readonly stormy?: boolean;
}

const settings = JSON.parse(process.argv[2]!) as TelemetryServerSettings;

function provider(url: string): NodeTracerProvider {
  const exporter = new OTLPTraceExporter({ url });
  const processor = settings.batch ? new BatchSpanProcessor(exporter) : new SimpleSpanProcessor(exporter);
  const made = new NodeTracerProvider({ spanProcessors: [processor] });
  made.register();
  return made;
}

const sdk = settings.otlp === undefined ? undefined : provider(settings.otlp);

const leg = durableTool('leg', { inputSchema: z.object({ to: z.string() }) }, ({ to }, task) =>
  task.step('sail', () => to),
);

const voyage = durableTool(
  'voyage',
  { task: 'always', inputSchema: z.object({ cargo: z.string(), direct: z.boolean().optional() }) },
  async ({ cargo, direct = false }, task) => {
    await task.step('load', () => cargo);
    await (await task.start(leg, { to: 'Tiree' })).result();
    await task.step(
      'cross',
      ({ attempt }) => {
        console.log('crossing');
        if (settings.stormy) return new Promise(() => {});
        if (attempt === 1) throw new Error('secret-weather');
        return 'secret-bearing';
      },
      { retry: { attempts: 3, delay: '10ms' } },
    );
    if (!direct)
      await task.ask('land', { message: 'secret-question?', schema: z.object({ at: z.string() }) });
    return 'secret-harbour';
  },
);

const tasks = createTasks({ store: sqlite(settings.file), tools: [voyage, leg], telemetry: telemetry() });
await tasks.work();
const { url, stopped } = await serveHttp(tasks, attached(tasks), {
  port: 0,
  metrics: '/metrics',
  health: true,
  onError: (error) => console.error(error),
});
console.log(`ready ${url}`);
await stopped;
await sdk?.shutdown();
