import { createHash } from 'node:crypto';
import { World } from './world.ts';
import { replaceGlobals, escaped } from './globals.ts';
import { SimDatabase } from './database.ts';
import { Network } from './network.ts';
let world = new World(1);
replaceGlobals(() => world);
const { useRuntime } = await import('../src/model/runtime.ts');
const { createTasks, durableTool } = await import('../src/index.ts');
const { McpHandler, staticTokens } = await import('../src/server.ts');
const { connectTasks, httpTransport, memoryHandles } = await import('../src/client.ts');
const { httpTransport: transportOn } = await import('../src/client/http.ts');
const { Client } = await import('@modelcontextprotocol/client');
const { McpServer } = await import('@modelcontextprotocol/server');
const log = console.log;
for (const seed of [1, 1, 2, 2, 3, 1]) {
  world = new World(seed);
  useRuntime(world.runtime);
  const database = new SimDatabase();
  const network = new Network(world.random());
  const plan = world.random();
  const hash = createHash('sha256'); let commits = 0;
  const tool = durableTool('t', { task: 'always' }, async (input: any, task: any) => {
    for (let k = 0; k < 3; k++) await task.step(`s${k}`, () => new Promise<void>((r) => setTimeout(r, plan.between(10, 5000))));
    return 'ok';
  });
  const server = world.process('server');
  server.setImmediate(() => void (async () => {
    const tasks = createTasks({ store: async () => database.open(server), tools: [tool] });
    await tasks.work({ watchdog: 'off' });
    await tasks.subscribe((c) => { commits++; hash.update(`${world.time} ${c.taskId} ${c.version} ${JSON.stringify(c.events).replace(/~\d+/g, '')}\n`); });
    const handler = new McpHandler(tasks, () => { const mcp = new McpServer({ name: 's', version: '1' }, {}); tasks.attach(mcp); return mcp; });
    network.serve('localhost', server, handler.fetch);
  })().catch((e) => world.fail(e)));
  let over = 0; const said: string[] = [];
  for (const [n, mode] of (['auto', 'legacy'] as const).entries()) {
    const caller = world.process(`caller${n}`);
    caller.setTimer(() => void (async () => {
      const client = new Client({ name: 'c', version: '1' }, mode === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {});
      const tasks = await connectTasks(client, () => transportOn(new URL('http://localhost/mcp'), {}, undefined, () => network.fetchOf(caller)), { handles: 'memory:' });
      const results = await Promise.all([1, 2, 3].map((i) => tasks.callTool({ name: 't', arguments: { i } })));
      said.push(JSON.stringify(results.map((r) => (r.content as any)[0].text)));
      over++;
    })().catch((e) => world.fail(e)), 100);
  }
  Object.assign(network, {});
  const orig = network.serve.bind(network);
  const before = process.hrtime.bigint();
  server.setTimer(() => {}, 1);
  const realServe = network.serve; void realServe; void orig;
  const done = await (async () => { return world.run(() => over === 2, 3_600_000); })().catch((e) => { log(e); return false; });
  log({ seed, done, over, said, commits, turns: world.turns, virtual: world.time, hash: hash.digest('hex').slice(0, 12), ms: Number(process.hrtime.bigint() - before) / 1e6, escaped: escaped(), net: network.counts });
}
