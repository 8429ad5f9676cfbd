/** The cost of durability for a short call by a plain client, with hand-over or with waiting only. */
import { join } from 'node:path';
import { bursts } from './bursts.ts';
import { inFolder } from './folder.ts';
import { interleave, type Operation, type Side, type Turns } from './measure.ts';
import { type Comparison, type Findings, ratio, type Suite } from './report.ts';
import { type Connection, post } from './server-connection.ts';
import { toolName } from './server-peers.ts';
import { ServerProcess } from './server-process.ts';

const clients = 16;
const callsInABurst = 128;

export const plainCalls: Suite = {
  name: 'plain-calls',
  run: ({ quick }) =>
    inFolder(async (folder) => {
      const start = (what: string) =>
        ServerProcess.start('plain-calls-server.ts', join(folder, `${what}.db`), what);
      const servers = { holdfast: await start('hand-over'), baseline: await start('wait') };
      try {
        return await comparePlainCalls(servers, quick);
      } finally {
        for (const server of Object.values(servers)) await server.stop();
      }
    }),
};

export async function comparePlainCalls(
  servers: Readonly<Record<'holdfast' | 'baseline', ServerProcess>>,
  quick: boolean,
): Promise<Findings> {
  const single: Turns = quick ? { rounds: 10, chunk: 5 } : { rounds: 200, chunk: 10 };
  const many: Turns = quick ? { rounds: 5, chunk: 1 } : { rounds: 150, chunk: 1 };
  const comparisons: Comparison[] = [];
  for (const [revision, open] of Object.entries(revisions)) {
    const sides = async (side: (opened: readonly Opened[]) => Side, count: number) => ({
      holdfast: side(await openAll(servers.holdfast, open, count)),
      baseline: side(await openAll(servers.baseline, open, count)),
    });
    const compare = async (
      what: string,
      stored: number,
      both: Record<'holdfast' | 'baseline', Side>,
      turns: Turns,
    ) => comparisons.push({ what: `${what}, ${revision}`, stored, ...(await interleave(both, turns)) });
    await compare('a plain call', 1, await sides(oneByOne, 1), single);
    await compare(`${callsInABurst} plain calls`, callsInABurst, await sides(allAtOnce, clients), many);
  }
  return {
    comparisons,
    rates: [],
    targets: comparisons.map((one) => ({
      what: `${one.what}: durable / waited for`,
      measured: ratio(one),
      atMost: 1.3,
    })),
  };
}

interface Opened {
  readonly connection: Connection;
  readonly call: () => string;
}

function oneByOne(opened: readonly Opened[]): Side {
  const [one] = opened as readonly [Opened];
  const act: Operation = () => ask(one);
  return { prepare: (count) => Array.from({ length: count }, () => act) };
}

function allAtOnce(opened: readonly Opened[]): Side {
  const calls = new Map(opened.map((one) => [one.connection, one]));
  return bursts([...calls.keys()], callsInABurst, () => (connection) => ask(calls.get(connection)!));
}

/** An error is a fast answer, too, and must not count. */
async function ask({ connection, call }: Opened): Promise<void> {
  const answer = await connection.ask(call());
  if (!answer.includes('"text":"done"')) throw new Error(`The call was not answered: ${answer}`);
}

type Open = (connection: Connection) => Promise<() => string>;

function openAll(server: ServerProcess, open: Open, count: number): Promise<Opened[]> {
  return server
    .connect(count)
    .then((all) =>
      Promise.all(all.map(async (connection) => ({ connection, call: await open(connection) }))),
    );
}

const headers =
  'content-type: application/json\r\naccept: application/json, text/event-stream\r\nauthorization: Bearer token-of-the-benchmark\r\n';
const clientInfo = { name: 'bench', version: '1.0.0' };

const revisions: Readonly<Record<string, Open>> = {
  '2026-07-28': async () => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': clientInfo,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const more = `mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: ${toolName}\r\n`;
    return calling(`${headers}${more}`, { _meta });
  },
  '2025-11-25': async (connection) => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const opening = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    const answer = await connection.ask(post(headers, opening));
    const session = /\r\nmcp-session-id: (\S+)/i.exec(answer)?.[1];
    if (session === undefined) throw new Error(`The server gave no session: ${answer}`);
    return calling(`${headers}mcp-protocol-version: 2025-11-25\r\nmcp-session-id: ${session}\r\n`, {});
  },
};

/** The bytes of successive calls, each with its own arguments. */
function calling(head: string, more: object): () => string {
  let id = 0;
  return () => {
    const params = { name: toolName, arguments: { n: ++id }, ...more };
    return post(head, JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }));
  };
}
