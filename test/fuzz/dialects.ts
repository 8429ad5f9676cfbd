/**
 * Every dialect at once against one server, a process of its own with its store in a file: bad messages of all of them
 * side by side over HTTP, or of one of them over a pipe.
 */
import fc from 'fast-check';
import { temporaryFile } from '../chaos/temporary-file.ts';
import { ServerUnderLoad } from '../load/under-load.ts';
import { largestBody } from './byte-flaws.ts';
import { Supply, supplyOf, Tally } from './campaign.ts';
import type { BadMessage } from './draft.ts';
import type { Facts } from './methods.ts';
import type { Answer } from './oracle.ts';
import { type Loose, request } from './requests.ts';
import { tampered } from './scene.ts';
import { badSessionMessages, sessionSweep } from './session-flaws.ts';
import { type SessionDialect, sessionDialects } from './session-methods.ts';
import { SessionScene } from './session-scene.ts';
import { Shooter } from './shots.ts';
import { Stage } from './stage.ts';
import { asked, HttpTalk, onAPipe, PipeTalk } from './talk.ts';

const owner = 'ada';
const stranger = 'eve';
const perBatch = 140;
const enoughProblems = 300;

/** One dialect under fire. */
interface Front {
  readonly name: string;
  readonly supply: Supply;
  /** What may be expected here. */
  expecting(bad: BadMessage): BadMessage;
  send(bad: BadMessage): Promise<Answer>;
  damage(): Promise<string[]>;
  finish(): Promise<unknown>;
}

export interface Report {
  readonly tally: Tally;
  /** What the server held after a collection: after a tenth of the messages, and after all of them. */
  readonly bytes: readonly [early: number, late: number];
  /** What a task of each dialect came to afterwards. */
  readonly after: Readonly<Record<string, unknown>>;
  readonly complaints: string;
}

/** `kept` are seeds of batches that found something once; they come first, and are not counted. */
export interface Plan {
  readonly messages: number;
  readonly seed: number;
  readonly kept: readonly number[];
}

export async function fireOverHttp(plan: Plan): Promise<Report> {
  const server = await underFire('http');
  const port = Number(new URL(server.url).port);
  const shooter = new Shooter(port, [['Authorization', `Bearer ${owner}`]]);
  const sessions: Front[] = [];
  const unseen = await unseenTasks(server.url, port);
  for (const dialect of sessionDialects) {
    const talk = await HttpTalk.open(server.url, dialect.drafts, owner, shooter);
    sessions.push(
      await sessionFront(await SessionScene.set(talk, dialect, unseen.ids, [unseen.cursor]), plan, true),
    );
  }
  const later = await laterFront(shooter, unseen.ids, plan);
  const report = await fire(server, [...sessions, later], plan);
  shooter.close();
  return report;
}

export async function fireOverAPipe(dialect: SessionDialect, plan: Plan): Promise<Report> {
  const server = await underFire('stdio');
  const talk = await PipeTalk.open(server.process, dialect.drafts);
  const unseen = ['a'.repeat(32)];
  const scene = await SessionScene.set(talk, dialect, unseen, unseen);
  const report = await fire(server, [await sessionFront(scene, plan, false)], plan, 1);
  return { ...report, complaints: [...talk.strays, report.complaints].join('\n') };
}

function underFire(face: 'http' | 'stdio'): Promise<ServerUnderLoad> {
  return ServerUnderLoad.start({
    face,
    store: temporaryFile(),
    hasEverything: true,
    errors: 'kept if mistakes',
    largestBody,
    grace: '1s',
  });
}

async function fire(
  server: ServerUnderLoad,
  fronts: readonly Front[],
  { messages, kept }: Plan,
  atOnce = perBatch,
): Promise<Report> {
  // Otherwise what is remembered of the tasks that messages make would look as if it were lost.
  if (messages >= 1_000) await server.ask('full');
  const tally = new Tally();
  const share = perBatch / fronts.length;
  const shoot = async (batch: string, bad: (supply: Supply) => BadMessage[]) => {
    const shots = fronts.flatMap((front) =>
      bad(front.supply)
        .map(front.expecting)
        .map((one) => () => tally.judged(one, () => inTime(front.send(one)))),
    );
    while (shots.length > 0) await Promise.all(shots.splice(0, atOnce).map((shot) => shot()));
    const damage = await Promise.all(fronts.map((front) => inTime(front.damage())));
    const problems = [...(await server.ask('mistakes')), ...damage.flat()];
    tally.problems.push(...problems.map((one) => `after ${batch}: ${one}`));
  };
  for (const seed of kept) await shoot(`seed ${seed}`, (supply) => supply.of(seed, share));
  const atFirst = tally.sent;
  let early: number | undefined;
  while (tally.sent - atFirst < messages && tally.problems.length < enoughProblems) {
    await shoot(`${tally.sent} messages`, (supply) => supply.next(share));
    if (tally.sent - atFirst >= messages / 10) early ??= (await server.ask('memory')).bytes;
  }
  const late = (await server.ask('memory')).bytes;
  const after = await Promise.all(fronts.map(async (front) => [front.name, await inTime(front.finish())]));
  return { tally, bytes: [early!, late], after: Object.fromEntries(after), complaints: server.complaints };
}

async function sessionFront(
  scene: SessionScene,
  { seed, messages }: Plan,
  overHttp: boolean,
): Promise<Front> {
  const { facts } = scene;
  const way = { overHttp };
  return {
    name: facts.dialect.name,
    supply: new Supply(some(sessionSweep(facts, way), messages, seed), badSessionMessages(facts, way), seed),
    expecting: overHttp ? (bad) => bad : onAPipe,
    send: (bad) => scene.send(bad),
    damage: () => scene.damage(),
    finish: () => scene.finish(),
  };
}

/** Of the revision without sessions. */
async function laterFront(shooter: Shooter, unseen: readonly string[], { seed }: Plan): Promise<Front> {
  const stage = await Stage.set(async (method, params) => {
    const answer = await shooter.post(request('right', method, params));
    if (answer.kind !== 'answered') throw new Error(`${method} was not answered (${answer.kind}).`);
    const { result, error } = JSON.parse(answer.text);
    if (error) throw new Error(`${method} was refused: ${error.message}`);
    return result;
  });
  const { staged } = stage;
  const [foreign = '', ...hidden] = unseen;
  const wrongStates = tampered(staged.parked);
  const facts: Facts = { ...staged, isAlone: true, foreign, hidden, wrongStates };
  return {
    name: '2026-07-28',
    supply: supplyOf(facts, { overHttp: true }, seed),
    expecting: (bad) => bad,
    send: ({ draft }) => shooter.send(draft),
    damage: () => stage.damage(),
    finish: () => stage.finish(),
  };
}

/** Tasks of somebody else, a root and what is below it, and a cursor for them. */
async function unseenTasks(url: string, port: number): Promise<{ ids: string[]; cursor: string }> {
  const shooter = new Shooter(port, [['Authorization', `Bearer ${stranger}`]]);
  const talk = await HttpTalk.open(url, ['sep-2268'], stranger, shooter);
  const call = (name: string, args: Loose) =>
    asked(talk, 'tools/call', { name, arguments: args, task: {} }).then(({ task }) => task.taskId);
  const root = await call('fan_out', { children: 2, depth: 1, delayMs: 0, ask: true });
  let children: string[] = [];
  while (children.length < 2)
    ({ childTaskIds: children = [] } = await asked(talk, 'tasks/get', { taskId: root }));
  for (let n = 0; n < 51; n++) await call('nap', { ms: 0 });
  const { nextCursor } = await asked(talk, 'tasks/list');
  shooter.close();
  return { ids: [root, ...children], cursor: nextCursor };
}

/** No answer takes so long, unless there is none. */
async function inTime<T>(answered: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('there was no answer')), 60_000);
  try {
    return await Promise.race([answered, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** As many as fit beside those that chance makes, others with every seed. */
function some<T>(all: readonly T[], messages: number, seed: number): T[] {
  const share = Math.min(all.length, Math.floor(messages / (sessionDialects.length + 1) / 2));
  return fc.sample(fc.shuffledSubarray([...all], { minLength: share, maxLength: share }), {
    seed,
    numRuns: 1,
  })[0]!;
}
