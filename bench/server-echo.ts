/** `server-echo.ts REPLY`: parses each body and sends a fixed reply, the minimum work of any server. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listensAt } from './server-process.ts';

const reply = JSON.parse(process.argv[2]!);

const server = createServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    const { id } = JSON.parse(Buffer.concat(chunks).toString());
    const text = JSON.stringify({ ...reply, id });
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    res.end(text);
  });
});
server.listen(0, '127.0.0.1', () => listensAt((server.address() as AddressInfo).port, () => process.exit()));
