/**
 * Random commands against a world of tasks. Each command picks its subjects by numbers (modulo what exists), so that
 * any sequence is meaningful and a failing one can be shrunk. A command that the rules refuse is as good a case as
 * one that they allow.
 */
import fc from 'fast-check';
import * as rules from '../../../src/engine/rules/transitions.ts';
import { newId } from '../../../src/model/id.ts';
import type { InputRequest, InputResponse } from '../../../src/model/input.ts';
import type { Failed } from '../../../src/model/outcome.ts';
import type { Task, TaskId } from '../../../src/model/task.ts';
import type { Verdict } from '../../../src/ports/change.ts';
import type { Claim } from '../../../src/ports/queue.ts';
import type { Reach, Store } from '../../../src/ports/store.ts';
import { aTask } from '../../../src/testing/fixtures.ts';

/** The numbers decide everything that the name leaves open. */
export interface Command {
  readonly name: string;
  readonly n: number;
  readonly m: number;
}

export interface VersionedClaim extends Claim {
  readonly version: number;
}

export interface Subjects {
  readonly now: number;
  readonly tasks: readonly Task[];
  /** Every claim ever made, with the version that it gave its task: most of them are lost by now. */
  readonly claims: readonly VersionedClaim[];
  readonly holder: string;
}

/** A command, ready to be put to the rules and to a store: where it looks, and what it decides. */
export type Decision =
  | {
      readonly bearing: Parameters<Store['create']>[0];
      readonly decide: (existing: Task | undefined) => Verdict;
    }
  | {
      readonly reach: keyof Reach;
      readonly id: string;
      /** The claim under which a worker sends it. */
      readonly claim?: Claim;
      readonly decide: (subject: never) => Verdict;
    };

/** `fresh` is the id of a task that the command may create: rules and store decide on the same one. */
type Given = Command & Subjects & { readonly fresh: TaskId };

interface Kind {
  readonly weight: number;
  readonly decision: (given: Given) => Decision | undefined;
}

export const of = <T>(items: readonly T[], n: number): T | undefined => items[n % Math.max(1, items.length)];
/** No lease expires: each store measures leases with its own clock. */
export const leaseMs = 365 * 24 * 3_600_000;
/** Stores keep a result of this length in a row of its own. */
const largeText = 'x'.repeat(300_000);

const form: InputRequest = {
  kind: 'form',
  message: 'Publish?',
  schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
};
const responses: readonly InputResponse[] = [
  { action: 'accept', content: { ok: true } },
  { action: 'decline' },
  { action: 'accept', content: { ok: 'perhaps' } },
  { action: 'accept', content: {} },
];
const failures: readonly Failed[] = [
  { kind: 'result', isError: true, value: { content: [], isError: true } },
  { kind: 'failure', message: 'The disk caught fire.', code: -32603 },
  { kind: 'lost', message: 'Nobody knows.' },
];

export const words: readonly string[] = ['at', 'Grün', '100 %', 'a_b', 'nul \u0000', "it's", '\\ and 😀'];

const isAlive = ({ phase }: Task) => phase !== 'done';
const isDone = ({ phase }: Task) => phase === 'done';
const isSometimesDone = (task: Task, { n }: Given) => n % 4 === 0 && isDone(task);
const isWaiting = ({ phase }: Task) => phase === 'waiting';
const isAwake = (task: Task) => task.phase !== 'done' && task.wakeAt !== null && !task.worker;
const isUnpublished = (task: Task) => task.unpublished !== undefined && isAlive(task);
const isHandedOver = (task: Task) => task.handedOver !== undefined && isAlive(task);
const isUnpublishedAndDone = (task: Task) => task.unpublished !== undefined && isDone(task);
const hasSubtasks = (task: Task) => task.childCount > 0 && isAlive(task);

/** On a task that fits four times out of five, otherwise on any, living or done. */
function onTask<R extends keyof Reach>(
  weight: number,
  reach: R,
  fits: (task: Task, given: Given) => boolean,
  rule: (subject: Reach[R], given: Given) => Verdict,
): Kind {
  const decision = (given: Given) => {
    const { n, tasks } = given;
    const fitting = n % 5 === 0 ? [] : tasks.filter((task) => fits(task, given));
    const task = of(fitting.length > 0 ? fitting : tasks, n);
    return task && { reach, id: task.id, decide: (subject: Reach[R]) => rule(subject, given) };
  };
  return { weight, decision };
}

/** By a worker: four times out of five under a claim that stands, otherwise under any, most of them lost long ago. */
function onClaim<R extends keyof Reach>(
  weight: number,
  reach: R,
  rule: (subject: Reach[R], claim: Claim, given: Given) => Verdict,
): Kind {
  const decision = (given: Given) => {
    const { n, tasks, claims } = given;
    const held = n % 5 === 0 ? [] : tasks.filter((task) => task.phase !== 'done' && task.worker);
    const standing = held.map(({ id, epoch }) => ({ taskId: id, epoch }));
    const claim = of(standing.length > 0 ? standing : claims, n);
    if (!claim) return undefined;
    return { reach, id: claim.taskId, claim, decide: (subject: Reach[R]) => rule(subject, claim, given) };
  };
  return { weight, decision };
}

/** Answers to some of a task's questions; every third command has wrong ones among them. */
function someAnswers({ inputs }: Task, { n, m }: Given): Record<string, InputResponse> {
  const some = [...inputs.entries()].filter(([index]) => (m >> index) % 2 === 0);
  return Object.fromEntries(
    some.map(([index, { key }]) => [key, responses[(m + index) % (n % 3 === 0 ? 4 : 2)]!]),
  );
}

function create({ n, m, now, holder, fresh: id }: Given): Decision {
  const key = m % 5 === 0 ? undefined : `k${1 + (m % 3)}`;
  const request = aTask({
    id,
    toolVersion: m % 11 === 0 ? '2' : '1',
    owner: (m >> 3) % 2 === 0 ? 'alice' : 'bob',
    arguments: { n },
    deadlineMs: n % 3 === 0 ? null : (n % 100) * 2_000,
    retention:
      n % 2 === 0
        ? { from: 'finish', ms: n % 7 === 0 ? null : n % 60_000 }
        : { from: 'creation', ms: n % 90_000, floorMs: 60_000 },
    ...(n % 5 === 0 && {
      unpublished: {
        servedBy: holder,
        until: now + (n % 20_000),
        ...(n % 2 === 0 && { join: { key: `k${n % 3}`, session: null, call: `${n}` } }),
      },
    }),
    ...(key !== undefined && { idempotency: { key, argumentsDigest: String(n % 2) } }),
  });
  const claimant = n % 4 === 0 ? { name: holder, leaseMs } : undefined;
  const { owner, tool } = request;
  const bearing = key === undefined ? undefined : { owner, tool, key };
  return { bearing, decide: (existing?: Task) => rules.create(existing, request, now, claimant) };
}

/** Reruns a finished task as a new one under a given id; every third time a task has that id already. */
function rerun({ n, m, now, tasks, fresh }: Given): Decision | undefined {
  const done = of(tasks.filter(isDone), n);
  if (!done) return undefined;
  const id = n % 3 === 0 ? of(tasks, m)!.id : fresh;
  const { owner, tool, origin } = done;
  const request = aTask({ id, owner, tool, origin: { ...origin, retryOf: done.id }, arguments: { n } });
  return { bearing: { id }, decide: (existing?: Task) => rules.create(existing, request, now) };
}

const kinds: Readonly<Record<string, Kind>> = {
  create: { weight: 6, decision: create },
  rerun: { weight: 2, decision: rerun },
  claim: onTask(14, 'task', isAwake, (task, { n, now, holder }) => {
    const freed = n % 3 === 0 && task.phase !== 'done' ? task.worker : undefined;
    return rules.claim(task, { name: holder, leaseMs }, now, freed);
  }),
  'start child': onClaim(8, 'task', (task, claim, { n, now, fresh: id }) => {
    const request = aTask({ id, tool: 'summarise', owner: 'mallory', deadlineMs: (n % 50) * 1_000 });
    return rules.startChild(task, claim, request, now, [{ started: id }]);
  }),
  record: onClaim(6, 'task', (task, claim, { n, now }) => rules.record(task, claim, [{ n }], now)),
  report: onClaim(3, 'task', (task, claim, { n, m, now }) => {
    const said = {
      message: `${of(words, m)} ${n}`,
      progress: { done: n },
      ...(m % 3 === 0 && { pollMs: m }),
    };
    return rules.report(task, claim, n % 5 === 0 ? {} : said, now);
  }),
  ask: onClaim(8, 'task', (task, claim, { n, now }) =>
    rules.ask(task, claim, { key: `q${n % 2}`, request: n % 7 === 0 ? { kind: 'roots' } : form }, now),
  ),
  answer: onTask(10, 'task', isWaiting, (task, given) =>
    rules.answer(task, { nobodyAsked: { action: 'accept' }, ...someAnswers(task, given) }, given.now),
  ),
  withdraw: onTask(2, 'task', isWaiting, (task, { n, now }) =>
    rules.withdraw(task, [`q${n % 2}`, `q${n % 2}~2`], now),
  ),
  park: onClaim(5, 'task', (task, claim, { n, now, claims }) => {
    const seenVersion = n % 6 === 0 ? task.version - 1 : task.version;
    const made = claims.find(({ taskId, epoch }) => taskId === claim.taskId && epoch === claim.epoch);
    // A commit that also created its task must stay in the history.
    const claimedVersion = made && made.version > 1 ? made.version : undefined;
    const until = n % 2 === 0 ? null : now + (n % 5_000);
    return rules.park(task, claim, { seenVersion, until, claimedVersion }, now);
  }),
  'set aside': onClaim(2, 'task', (task, claim, { n, now }) =>
    rules.block(task, claim, { message: 'No handler knows its steps.', until: now + (n % 5_000) }, now),
  ),
  'note that it is alone': onClaim(1, 'task', (task, claim, { now }) => rules.isolate(task, claim, now)),
  explain: onTask(1, 'task', isAwake, (task, { now }) => rules.explain(task, 'No worker knows it.', now)),
  'complete an event': onTask(3, 'task', isAlive, (task, { n, now }) =>
    rules.completeEvent(task, `e${n % 3}`, { n }, now),
  ),
  release: onClaim(2, 'task', (task, claim, { now }) => rules.release(task, claim, now)),
  complete: onClaim(6, 'lineage', (lineage, claim, { n, m, now }) => {
    const value = m % 23 === 0 ? { n, text: largeText } : { n };
    return rules.complete(lineage, claim, { kind: 'result', isError: false, value }, now);
  }),
  fail: onClaim(2, 'family', (family, claim, { n, now }) => rules.fail(family, claim, of(failures, n)!, now)),
  cancel: onTask(1, 'family', isAlive, (family, { n, now }) =>
    rules.cancel(family, now, n % 2 === 0 ? undefined : 'No more.'),
  ),
  'pass the deadline': onTask(2, 'family', isAlive, (family, { now }) => rules.passDeadline(family, now)),
  purge: onTask(3, 'family', isDone, (family, { now }) => rules.purge(family, now)),
  remove: onTask(1, 'family', isSometimesDone, (family, { now }) => rules.remove(family, now)),
  'crowd out': onTask(1, 'family', isSometimesDone, (family, { n, now }) =>
    rules.crowdOut(family, now - (n % 30_000), now),
  ),
  'keep for its request': onTask(2, 'task', isUnpublished, (task, { n, now, holder }) =>
    rules.keepForRequest(task, { servedBy: holder, until: now + (n % 60_000) }, now),
  ),
  publish: onTask(2, 'task', isUnpublished, (task, { now }) => rules.publish(task, now)),
  'confirm the hand-over': onTask(2, 'task', isHandedOver, (task, { now }) =>
    rules.confirmHandOver(task, now),
  ),
  discard: onTask(2, 'family', isUnpublishedAndDone, (family, { now }) => rules.discard(family, now)),
  deliver: onTask(6, 'task', isWaiting, (task, { m, now, holder }) => {
    const delivery = { by: m % 7 === 0 ? 'someone' : holder, stream: `s${m % 3}`, until: now + (m % 9_000) };
    return rules.deliver(task, `q${m % 2}`, delivery, now, m % 5 === 0 ? 'someone' : undefined);
  }),
  undeliver: onTask(2, 'task', isWaiting, (task, { m, now }) => {
    const carried = task.inputs.find((input) => input.state === 'open' && input.delivery);
    const delivery = carried?.state === 'open' ? carried.delivery : undefined;
    const stream = m % 4 === 0 ? 'another' : (delivery?.stream ?? 'none');
    return rules.undeliver(task, carried?.key ?? 'q0', delivery?.by ?? 'someone', stream, now);
  }),
  entrust: onTask(2, 'task', isWaiting, (task, { n, m, now }) => {
    const entrusted = n % 3 === 0 ? undefined : { taskId: `client's ${m % 3}`, dialect: '2025-11-25' };
    return rules.recordAskedAsTask(task, `q${m % 2}`, entrusted, now);
  }),
  'answer the tree': onTask(4, 'family', hasSubtasks, (family, given) => {
    const tasks = [family.task, ...family.descendants];
    const answers = new Map(tasks.map((task) => [task.id, someAnswers(task, given)]));
    return rules.answerTree(family, answers, given.now);
  }),
};

export function decisionOf(
  command: Command,
  subjects: Subjects,
  fresh: TaskId = newId(),
): Decision | undefined {
  return kinds[command.name]!.decision({ ...command, ...subjects, fresh });
}

/** Mostly a small step forward; now and then a leap past every deadline, or back. */
export function leapOf({ n, m }: Command): number {
  if (n % 11 < 8) return 1 + (m % 3_000);
  return n % 11 < 10 ? 30_000 + (m % 90_000) : -1 - (m % 20_000);
}

/** Commands that decide nothing about tasks. */
const others = { 'move clock': { weight: 8 }, renew: { weight: 3 }, crash: { weight: 1 } };
const number = fc.nat(1_000_000);

export function commandOf(choices: Readonly<Record<string, { readonly weight: number }>>) {
  const weighted = Object.entries(choices).map(([name, { weight }]) => ({
    weight,
    arbitrary: fc.record<Command>({ name: fc.constant(name), n: number, m: number }),
  }));
  return fc.oneof(...weighted);
}

export const command = commandOf({ ...kinds, ...others });
