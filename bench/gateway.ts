/**
 * The cost of `holdfast serve`: calls of a fast tool by the SDK client, directly and through the gateway, over the same
 * transport, in turns; and the tool list of many servers.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { inFolder } from './folder.ts';
import { interleave, type Side, type Turns } from './measure.ts';
import { type Comparison, type Findings, ratio, type Suite } from './report.ts';

const upstreamScript = join(import.meta.dirname, 'gateway-upstream.ts');
const program = join(import.meta.dirname, '../bin/holdfast.js');
const servers = 20;

export const gateway: Suite = {
  name: 'gateway',
  run: ({ quick }) =>
    inFolder((folder) => compare(folder, quick ? { rounds: 10, chunk: 5 } : { rounds: 100, chunk: 10 })),
};

async function compare(folder: string, turns: Turns): Promise<Findings> {
  const owned: (() => Promise<void>)[] = [];
  try {
    const upstream = await ready([upstreamScript], owned);
    const serve = (name: string, config: object) => {
      const file = join(folder, `${name}.json`);
      writeFileSync(file, JSON.stringify({ mcpServers: config }));
      return [program, 'serve', '--config', file, '--store', `sqlite:${join(folder, `${name}.db`)}`];
    };
    const served = await ready([...serve('http', { bench: { url: upstream } }), '--port', '0'], owned);
    const stdio = { command: process.execPath, args: [upstreamScript, '--stdio'] };
    const spawned = serve('stdio', { bench: stdio });

    const comparisons: Comparison[] = [];
    for (const revision of ['2026-07-28', '2025-11-25'] as const) {
      const [direct, through] = await Promise.all([
        connect(new StreamableHTTPClientTransport(new URL(upstream)), revision, owned),
        connect(new StreamableHTTPClientTransport(new URL(served)), revision, owned),
      ]);
      comparisons.push(await compareCalls(`a call over HTTP, ${revision}`, direct, through, turns));
    }
    const direct = await connect(new StdioClientTransport(stdio), '2025-11-25', owned);
    const through = await connect(
      new StdioClientTransport({ command: process.execPath, args: [...spawned, '--stdio'] }),
      '2025-11-25',
      owned,
    );
    comparisons.push(await compareCalls('a call over stdio, 2025-11-25', direct, through, turns));

    const many = Object.fromEntries(
      Array.from({ length: servers }, (_, n) => [`s${n}`, { url: new URL(`/many/${n}`, upstream).href }]),
    );
    const large = await ready([...serve('many', many), '--port', '0'], owned);
    const listing = await connect(new StreamableHTTPClientTransport(new URL(large)), '2026-07-28', owned);
    const { list } = await interleave(
      { list: operations(() => listing.request({ method: 'tools/list', params: {} })) },
      { rounds: turns.rounds, chunk: 1 },
    );
    const { tools } = await listing.listTools();
    const listed = tools.filter(({ name }) => name.startsWith('tool_')).length;
    if (listed !== servers * 25) throw new Error(`There are ${listed} tools.`);
    return {
      comparisons,
      rates: [],
      targets: [
        ...comparisons.map((one) => ({
          what: `${one.what}: through / direct`,
          measured: ratio(one),
          atMost: 3,
        })),
        {
          what: `list of ${listed} tools of ${servers} servers`,
          measured: list.p50 / 1_000,
          atMost: 100,
          unit: 'ms',
        },
      ],
    };
  } finally {
    for (const end of owned.reverse()) await end();
  }
}

async function compareCalls(
  what: string,
  direct: Client,
  through: Client,
  turns: Turns,
): Promise<Comparison> {
  const add = (client: Client) =>
    operations(() => client.callTool({ name: 'add', arguments: { a: 1, b: 2 } }));
  const { holdfast, baseline } = await interleave({ holdfast: add(through), baseline: add(direct) }, turns);
  return { what, stored: 0, holdfast, baseline };
}

function operations(act: () => Promise<unknown>): Side {
  return { prepare: (count) => Array.from({ length: count }, () => act) };
}

async function connect(
  transport: Transport,
  revision: '2026-07-28' | '2025-11-25',
  owned: (() => Promise<void>)[],
): Promise<Client> {
  const client = new Client(
    { name: 'bench', version: '1.0.0' },
    revision === '2026-07-28' ? { versionNegotiation: { mode: { pin: revision } } } : {},
  );
  await client.connect(transport);
  if (client.getNegotiatedProtocolVersion() !== revision) throw new Error('Another revision was negotiated.');
  owned.push(() => client.close());
  return client;
}

/** Starts a process that prints its address. */
async function ready(args: readonly string[], owned: (() => Promise<void>)[]): Promise<string> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  owned.push(() => end(child));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return /^ready (\S+)$/.exec(line)![1]!;
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
