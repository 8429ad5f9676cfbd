import { createHash } from 'node:crypto';
import { World } from './world.ts';
import { replaceGlobals, escaped } from './globals.ts';
import { SimDatabase } from './database.ts';
let world = new World(1);
replaceGlobals(() => world);
const { useRuntime } = await import('../src/model/runtime.ts');
const { createTasks, durableTool } = await import('../src/index.ts');
const log = console.log;
const t0 = process.hrtime.bigint();
for (const seed of [1, 1, 1, 2, 2, 3, 1]) {
  world = new World(seed);
  useRuntime(world.runtime);
  const database = new SimDatabase();
  const plan = world.random();
  const hash = createHash('sha256'); (globalThis as any).tr = []; let commits = 0; let ended = 0; const begun = new Map<string, number>();
  const tool = durableTool('t', { task: 'always' }, async (input: any, task: any) => {
    for (let k = 0; k < 3; k++) await task.step(`s${k}`, async () => {
      begun.set(`${task.id}/${k}`, (begun.get(`${task.id}/${k}`) ?? 0) + 1);
      await new Promise((r) => setTimeout(r, plan.between(10, 5000)));
    });
    return 'ok';
  });
  const start = (n: number) => {
    const p = world.process(`p${n}`);
    world.current = p;
    const tasks = createTasks({ store: async () => database.open(p), tools: [tool] });
    p.setImmediate(() => { void tasks.work({ concurrency: 4, watchdog: 'off' }).catch((e) => world.fail(e)); });
    world.current = world.outside;
    return { p, tasks };
  };
  let procs = [start(1), start(2), start(3)];
  const made: string[] = [];
  const caller = world.process('caller');
  world.current = caller;
  const tasks = createTasks({ store: async () => database.open(caller), tools: [tool] });
  let over = false;
  caller.setImmediate(() => { void (async () => {
    await tasks.subscribe((c) => { commits++; (globalThis as any).tr.push(`${world.time} ${c.taskId} ${c.version} ${JSON.stringify(c.events).replace(/~\d+/g, "")}\n`); });
    const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => tasks.create(tool, { i })));
    await Promise.all(ids.map(({ id }) => tasks.outcome(id))); over = true;
  })().catch((e) => world.fail(e)); });
  const fault = () => world.outside.setTimer(() => {
    const v = plan.pick(procs);
    if (plan.chance(0.5)) { v.p.kill(); procs = procs.filter((x) => x !== v); world.outside.setTimer(() => procs.push(start(procs.length + 10 + made.length)), 500); made.push('x'); }
    else v.p.stall(plan.between(100, 60_000));
    if (world.time < 60_000) fault();
  }, plan.between(500, 8000));
  fault();
  const before = process.hrtime.bigint();
  const done = await world.run(() => over, 3_600_000).catch((e) => { log(e); return false; });
  (globalThis as any).all ??= []; (globalThis as any).all.push((globalThis as any).tr); log({ seed, done, over, commits, turns: world.turns, virtual: world.time, hash: hash.digest('hex').slice(0, 12), again: [...begun.values()].filter((n) => n > 1).length, ms: Number(process.hrtime.bigint() - before) / 1e6, escaped: escaped() });
}
const [a, b] = (globalThis as any).all;
for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) { log(i, a[i], b[i]); break; }
const short = (l: string) => l.slice(0, 10) + l.replace(/.*\[/, '').slice(0, 40);
for (let i = 0; i < 30; i++) log(i, short(a[i]), ' | ', short(b[i]));
const hash2 = (x: string[]) => createHash('sha256').update(x.join('')).digest('hex').slice(0, 8);
log((globalThis as any).all.map(hash2));
