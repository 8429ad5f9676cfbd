/**
 * Serves the dashboard with fixed tasks. Files, routes and the change feed are the real ones. The server can simulate
 * failures, which have pictures, too.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hasCode } from '../../src/model/errors.ts';
import { apiPath, dashboardPath } from '../../src/operator/api.ts';
import { HttpRefusal } from '../../src/server/http/body.ts';
import { EventBody } from '../../src/server/http/event-stream-body.ts';
import { writeResponse } from '../../src/server/http/node.ts';
import { dashboardFile } from '../../src/server/http/operator/dashboard-files.ts';
import { writeChanges } from '../../src/server/http/operator/operator-handler.ts';
import { routeOf } from '../../src/server/http/operator/routes.ts';
import { FixedOperatorApi, type World } from './world.ts';

/**
 * - `silent`: accepts requests and never answers
 * - `broken`: the store is unavailable
 * - `away`: a proxy answers that the server is down
 */
export type Trouble = 'silent' | 'broken' | 'away';

export const goodToken = 'a-token-that-opens-every-picture';

/** Attempts to follow the changes that fail; the next one hangs, so that the page keeps showing its next attempt. */
const failedAttempts = 3;

export interface PictureServer extends AsyncDisposable {
  /** The address of the dashboard. */
  readonly url: string;
  /** Starts a failure; open streams are cut if the server is `away`. */
  trouble(now: Trouble): void;
}

export async function servePictures(world: World, first?: Trouble): Promise<PictureServer> {
  const api = new FixedOperatorApi(world);
  const streams = new Set<ServerResponse>();
  let trouble = first;
  let broken = 0;

  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<Response> => {
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost');
    if (!pathname.startsWith(`${apiPath}/`)) return dashboardFile(pathname.slice(dashboardPath.length));
    if (req.headers.authorization !== `Bearer ${goodToken}`)
      throw new HttpRefusal(401, 'Send a valid token: Authorization: Bearer TOKEN.');
    const route = routeOf(req.method ?? 'GET', pathname.slice(apiPath.length), searchParams);
    if (route.kind === 'changes') {
      streams.add(res.once('close', () => streams.delete(res)));
      const events = new EventBody(() => {});
      void writeChanges(events, api.changes({ signal: events.closed }));
      return new Response(events.stream, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
    }
    if (trouble === 'broken') throw new HttpRefusal(503, 'The store is unavailable. Try again later.');
    return Response.json(await (route.kind === 'read' ? route.answer(api) : route.act(api, {})));
  };

  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    const isApi = req.url?.startsWith(`${apiPath}/`) === true;
    const isStream = req.url?.startsWith(`${apiPath}/changes`) === true;
    if (isApi && trouble === 'silent' && !isStream) return;
    if (isApi && trouble === 'away') {
      if (isStream && ++broken > failedAttempts) return;
      // The answer of a proxy. If the connection were cut instead, browsers would silently repeat the request.
      res.writeHead(502).end();
      return;
    }
    answer(req, res)
      .catch((error: Error) => {
        const status =
          error instanceof HttpRefusal ? error.status : hasCode(error, 'TASK_NOT_FOUND') ? 404 : 409;
        return Response.json({ error: { message: error.message } }, { status });
      })
      .then((response) => writeResponse(res, response))
      .catch(() => res.destroy());
  };

  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${dashboardPath}`,
    trouble: (now) => {
      trouble = now;
      if (now !== 'away') return;
      broken = streams.size;
      for (const res of streams) res.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
