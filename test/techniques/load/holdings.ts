/** What a server holds, counted from inside its process, from the moment on in which this is imported. */
import { createHook } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { EventEmitter } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';

const timers = new Set<number>();
createHook({
  init: (id, type) => void (type === 'Timeout' && timers.add(id)),
  destroy: (id) => void timers.delete(id),
  trackPromises: false,
}).enable();

let httpServer: Server | undefined;
const responses = new Set<ServerResponse>();
subscribe('http.server.request.start', (message) => {
  const { server, response } = message as { server: Server; response: ServerResponse };
  httpServer = server;
  responses.add(response);
  response.once('close', () => responses.delete(response));
});

export async function holdings() {
  return {
    resources: counted(process.getActiveResourcesInfo()),
    /** All of them, while the resources name only those that keep the process alive. */
    timers: timers.size,
    connections: httpServer ? await promisify(httpServer.getConnections.bind(httpServer))() : 0,
    responses: responses.size,
    listeners: counted([...listenersOf('process', process), ...listenersOf('server', httpServer)]),
  };
}

/** After a collection: the heap with the buffers outside it, and what the fullest response holds for its reader. */
export async function memory() {
  // A second collection takes what the finalizers of the first let go.
  for (let round = 0; round < 2; round++) {
    globalThis.gc!();
    await turn();
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  const unsent = [...responses].map(({ writableLength, socket }) =>
    Math.max(writableLength, socket?.writableLength ?? 0),
  );
  return { bytes: heapUsed + arrayBuffers, unsent: Math.max(0, ...unsent) };
}

function listenersOf(name: string, emitter?: EventEmitter): string[] {
  const events = emitter?.eventNames() ?? [];
  return events.flatMap((event) => Array(emitter!.listenerCount(event)).fill(`${name} ${String(event)}`));
}

function counted(kinds: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
