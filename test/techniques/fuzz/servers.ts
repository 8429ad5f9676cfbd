/**
 * Every dialect at once against one server, a process of its own with its store in a file: bad messages of all of them
 * side by side over HTTP, or of one of them over a pipe.
 */
import { temporaryFile } from '../../kit/lifetime.ts';
import { ServerUnderLoad } from '../load/under-load.ts';
import { maxBodySize } from './byte-flaws.ts';
import { type Front, fire, type Plan, type Tally } from './campaign.ts';
import { methods } from './methods.ts';
import type { Loose } from './requests.ts';
import { tampered } from './scene.ts';
import { type SessionDialect, sessionDialects } from './session-methods.ts';
import { secondPage, sessionFront } from './session-scene.ts';
import { type Shooter, shooterAt } from './shots.ts';
import { askOver, setStage } from './stage.ts';
import { HttpTalk, sessionOnAPipe } from './talk.ts';

const owner = 'ada';
const stranger = 'eve';

export async function fireOverHttp(plan: Plan): Promise<Tally> {
  const server = await underFire('http');
  const shooter = shooterOf(server, owner);
  const unseen = await unseenTasks(server);
  const sessions = await Promise.all(
    sessionDialects.map(async (dialect) => {
      const talk = await HttpTalk.open(server.url, dialect.drafts, owner, shooter);
      return sessionFront(talk, dialect, unseen.ids, unseen.cursor);
    }),
  );
  const tally = await fire([...sessions, await laterFront(shooter, unseen.ids)], plan, server);
  shooter.close();
  return tally;
}

export async function fireOverAPipe(dialect: SessionDialect, plan: Plan): Promise<Tally> {
  const server = await underFire('stdio');
  const talk = await sessionOnAPipe(server, dialect.drafts);
  const nobody = 'a'.repeat(32);
  const tally = await fire([await sessionFront(talk, dialect, [nobody], nobody)], plan, server);
  tally.problems.push(...talk.strays);
  return tally;
}

function underFire(face: 'http' | 'stdio'): Promise<ServerUnderLoad> {
  return ServerUnderLoad.start({ face, store: temporaryFile(), isUnderFire: true, maxBodySize, grace: '1s' });
}

function shooterOf({ url }: ServerUnderLoad, token: string): Shooter {
  return shooterAt(Number(new URL(url).port), [['Authorization', `Bearer ${token}`]]);
}

/** Of the revision without sessions. */
async function laterFront(shooter: Shooter, [foreign = '', ...hidden]: readonly string[]): Promise<Front> {
  const { staged, damage, finish } = await setStage(askOver(shooter));
  const facts = { ...staged, isAlone: true, foreign, hidden, wrongStates: tampered(staged.parked) };
  return { methods: methods(facts, true), send: ({ draft }) => shooter.send(draft), damage, finish };
}

/** Tasks of somebody else, a root and what is below it, and a cursor for them. */
async function unseenTasks(server: ServerUnderLoad): Promise<{ ids: string[]; cursor: string }> {
  const shooter = shooterOf(server, stranger);
  const talk = await HttpTalk.open(server.url, ['sep-2268'], stranger, shooter);
  const call = (name: string, args: Loose) =>
    talk.ask('tools/call', { name, arguments: args, task: {} }).then(({ task }) => task.taskId);
  const root = await call('fan_out', { children: 2, depth: 1, delayMs: 0, ask: true });
  let children: string[] = [];
  while (children.length < 2)
    ({ childTaskIds: children = [] } = await talk.ask('tasks/get', { taskId: root }));
  const cursor = await secondPage(
    () => talk.ask('tasks/list'),
    () => call('nap', { ms: 0 }),
  );
  shooter.close();
  return { ids: [root, ...children], cursor };
}
