/** Servers of others behind the gateway, called by clients of others: every pair does everything. */
import { equal, match, ok, rejects } from 'node:assert/strict';
import type { InteropCase } from '../case.ts';
import { kinds, type Peer, type Result } from './clients.ts';
import { type Doing, type Upstream, upstreams } from './upstreams.ts';

interface GatewayCase {
  readonly title: string;
  run(peer: Peer, upstream: Upstream): Promise<void>;
}

function textOf({ content }: Result): string {
  return (content as { text?: string }[]).map(({ text = '' }) => text).join('\n');
}

const called = (title: string, which: (upstream: Upstream) => Doing): GatewayCase => ({
  title,
  async run(peer, upstream) {
    const doing = which(upstream);
    match(textOf(await peer.call(doing)), doing.says);
  },
});

const cases: readonly GatewayCase[] = [
  {
    title: 'its tools are listed',
    async run(peer, { plain, long, asking }) {
      const tools = await peer.tools();
      for (const { tool } of [plain, long, asking]) ok(tools.includes(tool), `${tool} of ${tools.join()}`);
    },
  },
  called('a plain call', ({ plain }) => plain),
  called('a long call', ({ long }) => long),
  {
    title: 'a question in the middle',
    async run(peer, { asking }) {
      match(textOf(await peer.call(asking)), asking.says);
      equal(peer.asked.length ?? peer.asked.size, 1);
    },
  },
  {
    title: 'progress',
    async run(peer, upstream) {
      const said = await peer.progress!(upstream);
      ok(said.length > 1, `It was told ${JSON.stringify(said)}.`);
    },
  },
  { title: 'a call is cancelled', run: (peer, { endless }) => peer.cancel!(endless) },
  {
    title: 'an error result',
    async run(peer, { failing }) {
      const result = await peer.call(failing);
      equal(result.isError, true);
      match(textOf(result), failing.says);
    },
  },
  {
    title: 'a protocol error',
    async run(peer) {
      await rejects(peer.call({ tool: 'no-such-tool', says: /./ }), { code: -32602 });
    },
  },
];

/** It says and does nothing while it waits for a call, and asks no server for a tool that is not in its list. */
const notOfMcpdo = ['progress', 'a call is cancelled', 'a protocol error'];

export const gateway: readonly InteropCase[] = upstreams.flatMap((upstream) =>
  kinds.flatMap((kind) =>
    cases
      .filter(({ title }) => !(kind.title === 'mcpdo' && notOfMcpdo.includes(title)))
      .map(({ title, run }) => ({
        title: `${upstream.title} behind the gateway, ${kind.title}: ${title}`,
        async run(world) {
          await using peer = await kind.connect(await world.gateway, world);
          await run(peer, upstream);
        },
      })),
  ),
);
