import { createServer, type RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { upstreamFetch } from '../../src/gateway/upstream/fetch.ts';
import { originOf } from '../kit/serve.ts';

const post = { method: 'POST', redirect: 'manual', body: '{"a":"é"}' } as const;

async function listening(answer: RequestListener) {
  const connections = new Set<unknown>();
  const server = createServer(answer).on('connection', (socket) => connections.add(socket));
  return { url: `${await originOf(server)}/mcp`, connections };
}

test('a POST arrives, and the answer has its status and headers', async () => {
  const { url } = await listening(async (req, res) => {
    const chunks = await req.toArray();
    res.writeHead(404, { 'content-type': 'application/json', 'x-header': req.headers['x-sent'] });
    res.end(`[${Buffer.concat(chunks)}]`);
  });
  const response = await upstreamFetch(100)(url, { ...post, headers: { 'X-Sent': 'tide' } });
  expect([response.ok, response.status, response.headers.get('x-header')]).toEqual([false, 404, 'tide']);
  expect(await response.json()).toEqual([{ a: 'é' }]);
});

test('one connection serves several requests, even if each is aborted after its answer', async () => {
  const { url, connections } = await listening((_, res) => void res.end('done'));
  for (let n = 0; n < 5; n++) {
    const abort = new AbortController();
    const response = await upstreamFetch(100)(url, { ...post, signal: abort.signal });
    expect(await response.text()).toBe('done');
    abort.abort();
    await new Promise(setImmediate);
  }
  expect(connections.size).toBe(1);
});

test('events arrive one by one until the reader aborts', async () => {
  const closed = Promise.withResolvers<void>();
  const { url } = await listening((_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    res.on('close', () => closed.resolve());
  });
  const abort = new AbortController();
  const response = await upstreamFetch(1)(url, { ...post, signal: abort.signal });
  const reader = response.body!.getReader();
  expect(Buffer.from((await reader.read()).value!).toString()).toBe('data: 1\n\n');
  abort.abort();
  await expect(reader.read()).rejects.toThrow();
  await closed.promise;
});

test('an answer that is too large, broken or too late is an error', async () => {
  const { url } = await listening((req, res) => {
    if (req.url === '/mcp?large') res.end('x'.repeat(101));
    else if (req.url === '/mcp?broken')
      res.writeHead(200, { 'content-length': 50 }).write('half', () => res.destroy());
  });
  const send = (query: string, signal?: AbortSignal) =>
    upstreamFetch(100)(`${url}?${query}`, { ...post, ...(signal && { signal }) });
  await expect(send('large')).rejects.toThrow('larger than 100 bytes');
  await expect(send('broken')).rejects.toThrow(TypeError);
  await expect(send('never', AbortSignal.timeout(50))).rejects.toThrow('timeout');
});

test('a refused connection gives the same error as `fetch`', async () => {
  const { url } = await listening(() => {});
  const free = new URL(url);
  free.port = '1';
  const refused = await upstreamFetch(100)(free, post).catch((error: Error) => error);
  expect(refused).toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNREFUSED' } });
});
