/**
 * The dashboard as our own server gives it out, over a desk of still tasks: files, routes and the stream of changes are
 * the real ones. A picture can also be of a server that is in trouble, so this one can get into it.
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
import { PictureDesk, type World } from './world.ts';

/**
 * - `silent`: takes questions, and answers none
 * - `broken`: its store cannot be used
 * - `away`: there is only a proxy, which says so
 */
export type Trouble = 'silent' | 'broken' | 'away';

export const goodToken = 'a-token-that-opens-every-picture';

/** Tries to follow the changes that break off; the next hangs, so that what the page says of its next try stays. */
const brokenTries = 3;

export interface PictureServer extends AsyncDisposable {
  /** Where the dashboard is. */
  readonly url: string;
  /** From now on the server is in trouble; streams that are open break off if it is `away`. */
  trouble(now: Trouble): void;
}

export async function servePictures(world: World, first?: Trouble): Promise<PictureServer> {
  const desk = new PictureDesk(world);
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
      void writeChanges(events, desk.changes({ signal: events.closed }));
      return new Response(events.stream, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
    }
    if (trouble === 'broken')
      throw new HttpRefusal(503, 'The store is not available at the moment. Try again later.');
    return Response.json(await (route.kind === 'read' ? route.answer(desk) : route.act(desk, {})));
  };

  const listener = (req: IncomingMessage, res: ServerResponse): void => {
    const isApi = req.url?.startsWith(`${apiPath}/`) === true;
    const isStream = req.url?.startsWith(`${apiPath}/changes`) === true;
    if (isApi && trouble === 'silent' && !isStream) return;
    if (isApi && trouble === 'away') {
      if (isStream && ++broken > brokenTries) return;
      // What a proxy says of a server that is gone. Browsers quietly repeat a request whose connection breaks.
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
