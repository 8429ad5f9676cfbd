/** The stream that belongs to no request: a server may ask its questions there, so it must come back with the server. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { httpTransport } from '../../src/client/http.ts';

test('it is opened again after a server was away for longer than two tries', async () => {
  let opened = 0;
  const listen = (port: number) =>
    new Promise<Server>((resolve) => {
      const server = createServer((req, res) => {
        if (req.method === 'POST') return void res.writeHead(202).end();
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

  const first = await listen(0);
  const { port } = first.address() as AddressInfo;
  const transport = httpTransport(new URL(`http://127.0.0.1:${port}/mcp`));
  onTestFinished(() => transport.close());
  const failures: string[] = [];
  transport.onerror = ({ message }) => failures.push(message);
  await transport.start();
  await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await expect.poll(() => opened).toBe(1);

  await end(first);
  await expect.poll(() => failures.filter((why) => why.includes('Failed to reconnect')).length).toBe(2);
  await pause(100);
  const second = await listen(port);
  onTestFinished(() => end(second));
  await expect.poll(() => opened).toBe(2);
});
