/** Servers of others behind the gateway, called by clients of others: every pair does everything. */
import { equal, match, ok, rejects } from 'node:assert/strict';
import { test } from 'vitest';
import { textOf } from '../../../kit/text.ts';
import { connectMcpdo } from '../command-line.ts';
import { folder, shared } from '../world.ts';
import { kinds, type Peer } from './clients.ts';
import { type Doing, openGateway, type Upstream, upstreams } from './upstreams.ts';

async function called(peer: Peer, doing: Doing) {
  const result = await peer.call(doing);
  match(textOf(result), doing.says);
  return result;
}

const gateway = shared(() => openGateway(folder()));

/** One by one for each upstream: where several calls are in flight, it is not certain which of them asks. */
const stages = upstreams.map((upstream) => ({
  upstream,
  mcpdo: shared(async () => connectMcpdo((await gateway()).url)),
  last: Promise.resolve(),
}));

/** It says and does nothing while it waits for a call, and asks no server for a tool that is not in its list. */
const notOfMcpdo = ['progress', 'a call is cancelled', 'a protocol error'];

function everyPair(what: string, run: (peer: Peer, upstream: Upstream) => Promise<void>): void {
  for (const [kind, connect] of Object.entries(kinds))
    for (const stage of kind === 'mcpdo' && notOfMcpdo.includes(what) ? [] : stages) {
      const { upstream, mcpdo } = stage;
      const act = async () => {
        await using peer = await connect((await gateway()).url, mcpdo);
        await run(peer, upstream);
      };
      test.concurrent(`${upstream.title} behind the gateway, ${kind}: ${what}`, () => {
        stage.last = stage.last.then(act, act);
        return stage.last;
      });
    }
}

everyPair('its tools are listed', async (peer, { plain, long, asking }) => {
  const tools = ((await peer.tools()).tools as { name: string }[]).map(({ name }) => name);
  for (const { tool } of [plain, long, asking]) ok(tools.includes(tool), `${tool} of ${tools.join()}`);
});

everyPair('a plain call', async (peer, { plain }) => {
  await called(peer, plain);
});

everyPair('a long call', async (peer, { long }) => {
  await called(peer, long);
});

everyPair('a question in the middle', async (peer, { asking }) => {
  await called(peer, asking);
  equal(peer.asked.length, 1);
});

everyPair('progress', async (peer, upstream) => {
  const said = await peer.progress!(upstream);
  ok(said.length > 1, `It was told ${JSON.stringify(said)}.`);
});

everyPair('a call is cancelled', (peer, { endless }) => peer.cancel!(endless));

everyPair('an error result', async (peer, { failing }) => {
  equal((await called(peer, failing)).isError, true);
});

everyPair('a protocol error', (peer) =>
  rejects(peer.call({ tool: 'no-such-tool', says: /./ }), { code: -32602 }),
);
