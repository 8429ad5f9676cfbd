import { context, type Span, type TracerProvider, trace } from '@opentelemetry/api';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { afterEach, expect, test } from 'vitest';
import { createTasks, durableTool, type Tasks } from '../../src/index.ts';
import { sqlite } from '../../src/sqlite.ts';
import { type TelemetryOptions, telemetry } from '../../src/telemetry.ts';
import { edges } from './receiver.ts';

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();
afterEach(() => exporter.reset());

const child = durableTool('child', {}, async (_, task) => {
  await task.waitForEvent('never');
});
const parent = durableTool('parent', {}, async (_, task) => {
  await task.step('work', () => trace.getTracer('author').startSpan('the author’s own').end());
  const started = await task.start(child);
  await started.result();
});

async function working(options?: TelemetryOptions): Promise<Tasks> {
  const tasks = createTasks({
    store: sqlite('memory:'),
    tools: [parent, child],
    telemetry: telemetry(options),
  });
  await tasks.work();
  return tasks;
}

/** Runs until the subtask has been started and waits, then cancels the whole tree. */
async function cancelled(tasks: Tasks): Promise<void> {
  const parked = Promise.withResolvers<void>();
  await tasks.subscribe(({ taskId, rootId, events }) => {
    if (taskId !== rootId && events.some(({ type }) => type === 'parked')) parked.resolve();
  });
  const { id } = await tasks.create(parent);
  await parked.promise;
  await tasks.cancel(id);
  await tasks.close();
}

function shape(caller?: string): string[] {
  const spans = exporter.getFinishedSpans().map((span) => ({
    name: span.name,
    spanId: span.spanContext().spanId,
    parentSpanId: span.parentSpanContext?.spanId,
  }));
  return edges(spans as never, caller);
}

test('a tree that is cancelled ends as one tree of spans, below what was active when it was made', async () => {
  const tasks = await working();
  const calling = provider.getTracer('caller').startSpan('calling');
  await context.with(trace.setSpan(context.active(), calling), () => cancelled(tasks));
  expect(shape(calling.spanContext().spanId)).toEqual([
    'pass below task child',
    'pass below task parent',
    'start child below task parent',
    'step work below task parent',
    'task child below start child',
    'task parent below the caller',
    'the author’s own below step work',
  ]);
});

test('where spans cannot be given their ids the tree is connected all the same', async () => {
  await cancelled(await working({ tracerProvider: foreign }));
  expect(shape()).toEqual([
    'pass below task parent',
    'pass below task parent',
    'step work below task parent',
    'task parent below no span',
    'the author’s own below step work',
  ]);
});

/** Spans that show copies of their contexts only, as those of other vendors do. */
const foreign: TracerProvider = {
  getTracer(name) {
    const tracer = provider.getTracer(name);
    const startSpan: typeof tracer.startSpan = (...args) => guarded(tracer.startSpan(...args));
    return { startSpan, startActiveSpan: tracer.startActiveSpan.bind(tracer) };
  },
};

function guarded(span: Span): Span {
  return new Proxy(span, {
    has: (target, key) => key !== 'parentSpanContext' && key in target,
    get(target, key) {
      if (key === 'spanContext') return () => Object.freeze({ ...target.spanContext() });
      const value = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

test.each([
  ['plain', 'ann'],
  ['none', undefined],
] as const)('owners are shown as the operator wants them: %s', async (owner, shown) => {
  const tasks = await working({ owner });
  const { id } = await tasks.create(child, undefined, { owner: 'ann' });
  await tasks.cancel(id);
  await tasks.close();
  const task = exporter.getFinishedSpans().find(({ name }) => name === 'task child');
  expect(task!.attributes['holdfast.owner']).toBe(shown);
});

test('what is not sampled when it is made is sampled nowhere, whatever its caller wished', async () => {
  const tasks = await working({
    tracerProvider: new NodeTracerProvider({ sampler: new AlwaysOffSampler() }),
  });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const origin = { dialect: 'direct', method: 'tools/call', trace: { traceparent } };
  const task = await tasks.create(child, undefined, { origin });
  expect(task.origin.trace!.traceparent).toMatch(/^00-a{32}-[0-9a-f]{16}-00$/);
  await tasks.close();
});

class Reader extends MetricReader {
  protected async onShutdown(): Promise<void> {}
  protected async onForceFlush(): Promise<void> {}
}

test('an SDK reads the same numbers', async () => {
  const reader = new Reader();
  const tasks = await working({ meterProvider: new MeterProvider({ readers: [reader] }) });
  const { id } = await tasks.create(child);
  const { id: done } = await tasks.create(child);
  await tasks.sendEvent(done, 'never', 'after all');
  await tasks.outcome(done);
  const { resourceMetrics } = await reader.collect();
  const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  const valuesOf = (name: string) =>
    metrics
      .find(({ descriptor }) => descriptor.name === name)!
      .dataPoints.map(({ value }) => (typeof value === 'object' ? value.count : value));
  expect(valuesOf('holdfast.tasks.created')).toEqual([2]);
  expect(valuesOf('holdfast.tasks.finished')).toEqual([1]);
  expect(valuesOf('holdfast.task.duration')).toEqual([1]);
  expect(valuesOf('holdfast.tasks.ready')).toEqual([0]);
  await tasks.cancel(id);
  await tasks.close();
});
