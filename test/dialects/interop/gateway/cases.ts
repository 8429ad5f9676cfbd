/** Servers of others behind the gateway, called by clients of others: every pair does everything. */
import { equal, match, ok, rejects } from 'node:assert/strict';
import { textOf } from '../../../gateway/stage.ts';
import { casesOf, type InteropCases, oneByOne } from '../case.ts';
import type { World } from '../world.ts';
import { kinds, type Peer } from './clients.ts';
import { type Doing, openGateway, type Upstream, upstreams } from './upstreams.ts';

async function called(peer: Peer, doing: Doing) {
  const result = await peer.call(doing);
  match(textOf(result), doing.says);
  return result;
}

const cases: Readonly<Record<string, (peer: Peer, upstream: Upstream) => Promise<void>>> = {
  async 'its tools are listed'(peer, { plain, long, asking }) {
    const tools = ((await peer.tools()).tools as { name: string }[]).map(({ name }) => name);
    for (const { tool } of [plain, long, asking]) ok(tools.includes(tool), `${tool} of ${tools.join()}`);
  },
  async 'a plain call'(peer, { plain }) {
    await called(peer, plain);
  },
  async 'a long call'(peer, { long }) {
    await called(peer, long);
  },
  async 'a question in the middle'(peer, { asking }) {
    await called(peer, asking);
    equal(peer.asked.length, 1);
  },
  async progress(peer, upstream) {
    const said = await peer.progress!(upstream);
    ok(said.length > 1, `It was told ${JSON.stringify(said)}.`);
  },
  'a call is cancelled': (peer, { endless }) => peer.cancel!(endless),
  async 'an error result'(peer, { failing }) {
    equal((await called(peer, failing)).isError, true);
  },
  'a protocol error': (peer) => rejects(peer.call({ tool: 'no-such-tool', says: /./ }), { code: -32602 }),
};

/** It says and does nothing while it waits for a call, and asks no server for a tool that is not in its list. */
const notOfMcpdo = ['progress', 'a call is cancelled', 'a protocol error'];

/** One by one for each upstream: where several calls are in flight, it is not certain which of them asks. */
export const gateway: InteropCases = {};
for (const [what, run] of Object.entries(cases))
  for (const [kind, connect] of Object.entries(kinds))
    for (const upstream of kind === 'mcpdo' && notOfMcpdo.includes(what) ? [] : upstreams) {
      const { title } = upstream;
      const connected = async (world: World) => {
        const { url } = await world.shared('gateway', () => openGateway(world.folder()));
        return connect(url, world, title);
      };
      const one = { [what]: (peer: Peer) => run(peer, upstream) };
      Object.assign(
        gateway,
        oneByOne(title, casesOf(`${title} behind the gateway, ${kind}`, connected, one)),
      );
    }
