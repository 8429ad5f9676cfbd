/** The standalone stream may carry questions, so the client must reopen it when the server is back. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { httpTransport } from '../../src/client/transports/http.ts';

test('it is opened however long the server is unreachable, at first and later', async () => {
  let opened = 0;
  let tries = 0;
  const listen = (port: number) =>
    new Promise<Server>((resolve) => {
      const server = createServer((_, res) => {
        opened++;
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n');
      });
      server.listen(port, '127.0.0.1', () => resolve(server));
    });
  const end = (server: Server) =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });

  const gone = await listen(0);
  const { port } = gone.address() as AddressInfo;
  await end(gone);
  const counted: typeof fetch = (url, init) => {
    if (init?.method === 'GET') tries++;
    return init?.method === 'GET' ? fetch(url, init) : Promise.resolve(new Response(null, { status: 202 }));
  };
  const url = new URL(`http://127.0.0.1:${port}/mcp`);
  const transport = httpTransport(url, {}, undefined, () => counted);
  onTestFinished(() => transport.close());
  await transport.start();
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await expect.poll(() => tries).toBe(3);
  const first = await listen(port);
  await expect.poll(() => opened).toBe(1);

  await end(first);
  await expect.poll(() => tries).toBeGreaterThan(6);
  const second = await listen(port);
  onTestFinished(() => end(second));
  await expect.poll(() => opened).toBe(2);
});
