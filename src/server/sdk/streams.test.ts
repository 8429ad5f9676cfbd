import { ProtocolError, type Server, type ServerContext, type Transport } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import type { TaskServer } from '../task-server.ts';
import { Streams } from './streams.ts';

/** The stream of a request on which every question fails with this error. */
function failing(error: Error) {
  const streams = new Streams({} as TaskServer, {} as Server, {} as Transport, new AbortController().signal);
  return streams.of({ mcpReq: { send: () => Promise.reject(error) } } as unknown as ServerContext);
}

const question = { method: 'elicitation/create', params: {} };
const never = new AbortController().signal;

test('a stream counts as closed after a failed write', async () => {
  const channel = failing(new Error('No connection established for request ID: 1'));
  await expect(channel.request(question, never)).rejects.toThrow(Error);
  expect(channel.closed.aborted).toBe(true);
});

test('a client that refuses a question leaves its stream open', async () => {
  const channel = failing(new ProtocolError(-32603, 'Nobody here.'));
  await expect(channel.request(question, never)).rejects.toThrow(ProtocolError);
  expect(channel.closed.aborted).toBe(false);
});
