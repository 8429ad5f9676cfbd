/** A raw server on a port: what it says goes out on the stream that belongs to no request. */
import { createServer, type ServerResponse } from 'node:http';
import { originOf } from '../kit/serve.ts';
import type { Message, RawServer } from './raw-server.ts';

export interface Listening {
  readonly server: RawServer;
  readonly url: string;
}

export async function listening(server: RawServer): Promise<Listening> {
  const http = createServer(async (request, response) => {
    if (request.method === 'GET') return open(server, response);
    if (request.method !== 'POST') return void response.writeHead(200).end();
    let body = '';
    for await (const chunk of request) body += chunk;
    const message = JSON.parse(body) as Message;
    if (message.method === undefined || message.id === undefined) {
      response.writeHead(202).end();
      return server.hear(message);
    }
    response.setHeader('mcp-session-id', 'the-session').setHeader('content-type', 'application/json');
    server.hear(message, (answer) => response.end(JSON.stringify({ jsonrpc: '2.0', ...answer })));
  });
  return { server, url: `${await originOf(http)}/mcp` };
}

function open(server: RawServer, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  server.speakThrough((message) => response.write(`data: ${JSON.stringify(message)}\n\n`));
}
