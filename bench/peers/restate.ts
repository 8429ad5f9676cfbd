/** Restate has a server of its own; handlers are an HTTP/2 endpoint that the server calls. */
import { createServer } from 'node:http2';
import * as restate from '@restatedev/restate-sdk';
import * as clients from '@restatedev/restate-sdk-clients';
import { listen } from '../../test/kit/port.ts';
import { type Peer, type Setting, steps, stepValue } from './adapter.ts';
import type { RestateUrls } from './restate-server.ts';

export async function open({ location, isWorker, began, returned }: Setting): Promise<Peer> {
  const { ingress, admin } = JSON.parse(location) as RestateUrls;
  const service = restate.service({
    name: 'bench',
    handlers: {
      nothing: async (_: restate.Context, n: number) => {
        began(n);
        returned();
      },
      fiveSteps: async (context: restate.Context, n: number) => {
        began(n);
        for (const step of steps) await context.run(`step ${step}`, () => stepValue(step));
        returned();
      },
    },
  });
  const server = createServer(restate.createEndpointHandler({ services: [service], logger: () => {} }));
  if (isWorker) {
    const uri = `http://127.0.0.1:${await listen(server)}`;
    const response = await fetch(`${admin}/deployments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri }),
    });
    if (!response.ok) throw new Error(`Restate did not accept the handlers: ${await response.text()}`);
  }
  const client = clients.connect({ url: ingress }).serviceClient<typeof service>({ name: 'bench' });
  return {
    inFlight: 128,
    async start(workflow, n) {
      const ended = client[workflow](n);
      return () => ended;
    },
    async close() {
      server.close();
    },
  };
}
