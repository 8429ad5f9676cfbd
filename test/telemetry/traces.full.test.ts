import { expect, test } from 'vitest';
import { extension, headersOf, requestOf } from '../kit/wire.ts';
import { Place } from '../serving/place.ts';
import { accept, type RawClient } from '../serving/raw-client.ts';
import { type HttpProcess, serveProgram } from '../serving/server-process.ts';
import { attributesOf, edges, Receiver } from './receiver.ts';
import type { TelemetryServerSettings } from './server.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const caller = '00f067aa0ba902b7';
const traceparent = `00-${traceId}-${caller}-01`;

function serve(settings: TelemetryServerSettings): Promise<HttpProcess> {
  return serveProgram('telemetry/server.ts', JSON.stringify(settings));
}

/** Sends a ship off, with what the caller says about its trace. */
async function sendOff(client: RawClient, meta: object = {}, input: object = {}): Promise<string> {
  const { result } = await client.call('voyage', { cargo: 'secret-peat', ...input }, { meta });
  return result.taskId;
}

async function land(client: RawClient, taskId: string): Promise<void> {
  await client.until(taskId, 'input_required');
  await client.update(taskId, { land: accept({ at: 'secret-pier' }) });
  expect((await client.until(taskId, 'completed', 'failed')).status).toBe('completed');
}

test.each([
  ['at once', false],
  ['together', true],
])(
  'a task that was killed and resumed elsewhere is one tree below its caller; spans that are sent %s',
  async (_, batch) => {
    const receiver = await Receiver.start();
    const settings = { file: new Place().database, otlp: receiver.url, batch };
    const first = await serve({ ...settings, stormy: true });
    const crossing = first.line();
    const taskId = await sendOff(first.client(), { traceparent, tracestate: 'sea=calm' });
    expect(await crossing).toBe('crossing');
    if (!batch) await expect.poll(() => receiver.named('step load')).toHaveLength(1);
    await first.kill();

    const second = await serve(settings);
    await land(second.client(), taskId);
    expect(await second.kill('SIGTERM')).toEqual({ code: 0, signal: null });

    const { spans } = receiver;
    expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
    expect(new Set(spans.map((span) => span.spanId)).size).toBe(spans.length);
    expect(new Set(spans.map((span) => span.traceState))).toEqual(new Set(['sea=calm']));
    const shape = edges(spans, caller);
    expect(shape.filter((edge) => edge.endsWith('nothing that came') || edge.endsWith('no span'))).toEqual(
      [],
    );
    expect(shape.filter((edge) => edge.endsWith('the caller'))).toEqual(['task voyage below the caller']);
    // The second process crosses twice, because its first attempt fails; what the first one did comes if it was sent.
    const fromFirst = [
      'start leg below task voyage',
      'step load below task voyage',
      'task leg below start leg',
    ];
    expect(shape.filter((edge) => !edge.startsWith('pass'))).toEqual(
      [
        'ask land below task voyage',
        'step cross below task voyage',
        'step cross below task voyage',
        'task voyage below the caller',
        ...(batch ? [] : [...fromFirst, 'step sail below task leg']),
      ].sort(),
    );
    const recoveries = receiver.named('pass').filter((span) => attributesOf(span)['holdfast.recovered']);
    expect(recoveries).toHaveLength(1);
    const [task] = receiver.named('task voyage');
    expect(attributesOf(task!)).toMatchObject({
      'holdfast.task.id': taskId,
      'holdfast.tool': 'voyage',
      'holdfast.dialect': '2026-07-28',
      'holdfast.outcome': 'result',
    });
    expect(attributesOf(task!)['holdfast.owner']).toMatch(/^[0-9a-f]{16}$/);
    expect(receiver.texts.join('\n')).not.toMatch(/secret|Tiree/);
  },
);

test('without a caller the task is the root of its trace, though another process ends it', async () => {
  const receiver = await Receiver.start();
  const settings = { file: new Place().database, otlp: receiver.url };
  const first = await serve({ ...settings, stormy: true });
  const crossing = first.line();
  const taskId = await sendOff(first.client());
  await crossing;
  await first.kill();
  const second = await serve(settings);
  await land(second.client(), taskId);
  await second.kill('SIGTERM');
  const roots = edges(receiver.spans).filter((edge) => / below (no span|nothing that came)$/.test(edge));
  expect(roots).toEqual(['task voyage below no span']);
  expect(new Set(receiver.spans.map((span) => span.traceId)).size).toBe(1);
});

test('the header of the request is gone on with where its body says nothing, and what is malformed is not', async () => {
  const receiver = await Receiver.start();
  const server = await serve({ file: new Place().database, otlp: receiver.url });
  const post = (header: string, meta: object) => callWithHeader(server.url, 'voyage', header, meta);
  const carrier = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  await post(carrier, {});
  await post(carrier, { traceparent });
  await post('00-xyz', { traceparent: 17 });
  // Those that may be answered at once take the way through the SDK.
  await callWithHeader(server.url, 'leg', `00-${'e'.repeat(32)}-${'f'.repeat(16)}-01`, {});
  const plain = () => receiver.named('task leg').filter((span) => span.parentSpanId === 'f'.repeat(16));
  await expect.poll(plain).toHaveLength(1);
  await expect.poll(() => receiver.named('task voyage')).toHaveLength(3);
  const above = receiver.named('task voyage').map((span) => `${span.traceId} ${span.parentSpanId}`);
  expect(above).toContain(`${'a'.repeat(32)} ${'b'.repeat(16)}`);
  expect(above).toContain(`${traceId} ${caller}`);
  expect(above.filter((one) => one.endsWith('undefined'))).toHaveLength(1);
});

async function callWithHeader(url: string, tool: string, header: string, meta: object): Promise<void> {
  const input = { cargo: 'peat', to: 'Coll', direct: true };
  const params = { name: tool, arguments: input, _meta: meta };
  const message = requestOf(1, 'tools/call', params, { extensions: { [extension]: {} } });
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headersOf('tools/call', params), traceparent: header },
    body: JSON.stringify(message),
  });
  expect(response.status).toBe(200);
  await response.text();
}

test('a caller whose trace is not sampled gets no spans', async () => {
  const receiver = await Receiver.start();
  const server = await serve({ file: new Place().database, otlp: receiver.url });
  const client = server.client();
  const unsampled = await sendOff(
    client,
    { traceparent: `00-${'c'.repeat(32)}-${'d'.repeat(16)}-00` },
    { direct: true },
  );
  await client.until(unsampled, 'completed');
  const sampled = await sendOff(client, { traceparent }, { direct: true });
  await client.until(sampled, 'completed');
  await server.kill('SIGTERM');
  expect(receiver.named('task voyage')).toHaveLength(1);
  expect(new Set(receiver.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
});
