/**
 * Random commands against a world of tasks. Each command picks its subjects by numbers (modulo what exists), so that
 * any sequence is meaningful and a failing one can be shrunk. A command that the rules refuse is as good a case as
 * one that they allow.
 */
import fc from 'fast-check';
import type { Verdict } from '../../src/engine/change.ts';
import type { Claim } from '../../src/engine/queue.ts';
import type { Reach } from '../../src/engine/store.ts';
import * as rules from '../../src/engine/transitions.ts';
import type { InputRequest, InputResponse } from '../../src/model/input.ts';
import type { Failed } from '../../src/model/outcome.ts';
import type { NewTask, Task } from '../../src/model/task.ts';
import { aTask } from '../../src/testing/fixtures.ts';

/** A command, ready to be put to the rules and to a store: where it looks, and what it decides. */
export type Decision =
  | {
      readonly kind: 'create';
      readonly request: NewTask;
      readonly decide: (existing: Task | undefined) => Verdict;
    }
  | { readonly [R in keyof Reach]: Update<R> }[keyof Reach];

interface Update<R extends keyof Reach> {
  readonly kind: 'update';
  readonly reach: R;
  readonly id: string;
  /** The claim under which a worker sends it. */
  readonly claim?: Claim;
  readonly decide: (subject: Reach[R]) => Verdict;
}

/** What commands may refer to. */
export interface Subjects {
  readonly now: number;
  readonly tasks: readonly Task[];
  /** Every claim ever made: most of them are lost by now. */
  readonly claims: readonly Claim[];
  readonly holder: string;
}

export type Command =
  | {
      readonly type: 'decide';
      readonly name: string;
      readonly make: (subjects: Subjects) => Decision | undefined;
    }
  | { readonly type: 'move clock'; readonly ms: number }
  | { readonly type: 'renew'; readonly pick: number }
  | { readonly type: 'crash' };

const pick = fc.nat(1_000_000);
const of = <T>(items: readonly T[], n: number): T | undefined => items[n % Math.max(1, items.length)];
const leaseMs = 15_000;

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

function decide(name: string, make: (subjects: Subjects) => Decision | undefined): Command {
  return { type: 'decide', name, make };
}

/** On a task of the fitting kind four times out of five, otherwise on any, living or done. */
function onTask<R extends keyof Reach>(
  name: string,
  reach: R,
  n: number,
  rule: (subject: Reach[R], subjects: Subjects) => Verdict,
  fitting: (task: Task) => boolean = ({ phase }) => phase !== 'done',
): Command {
  return decide(name, (subjects) => {
    const fit = n % 5 === 0 ? [] : subjects.tasks.filter(fitting);
    const task = of(fit.length > 0 ? fit : subjects.tasks, n);
    return task && update(reach, task.id, (subject) => rule(subject, subjects));
  });
}

/** By a worker: four times out of five under a claim that stands, otherwise under any, most of them lost long ago. */
function onClaim<R extends keyof Reach>(
  name: string,
  reach: R,
  n: number,
  rule: (subject: Reach[R], claim: Claim, subjects: Subjects) => Verdict,
): Command {
  return decide(name, (subjects) => {
    const held = n % 5 === 0 ? [] : subjects.tasks.filter((task) => task.phase !== 'done' && task.holder);
    const standing = held.map(({ id, epoch }) => ({ taskId: id, epoch }));
    const claim = of(standing.length > 0 ? standing : subjects.claims, n);
    return claim && { ...update(reach, claim.taskId, (subject) => rule(subject, claim, subjects)), claim };
  });
}

function update<R extends keyof Reach>(reach: R, id: string, rule: (subject: Reach[R]) => Verdict): Decision {
  return { kind: 'update', reach, id, decide: rule } as Decision;
}

const create = fc
  .record({
    n: pick,
    owner: fc.constantFrom('alice', 'bob'),
    key: fc.option(fc.constantFrom('k1', 'k2', 'k3')),
  })
  .map(({ n, owner, key }) =>
    decide('create', ({ now, holder }) => {
      const request = aTask({
        owner,
        arguments: { n },
        deadlineMs: n % 3 === 0 ? null : (n % 100) * 2_000,
        retention:
          n % 2 === 0
            ? { from: 'finish', ms: n % 7 === 0 ? null : n % 60_000 }
            : { from: 'creation', ms: n % 90_000, floorMs: 60_000 },
        ...(n % 5 === 0 && { unpublished: { servedBy: holder, until: now + (n % 20_000) } }),
        ...(key !== null && { idempotency: { key, argumentsDigest: String(n % 2) } }),
      });
      const claimant = n % 4 === 0 ? { name: holder, leaseMs } : undefined;
      return {
        kind: 'create',
        request,
        decide: (existing) => rules.create(existing, request, now, claimant),
      };
    }),
  );

const claim = pick.map((n) =>
  onTask(
    'claim',
    'task',
    n,
    (task, { now, holder }) =>
      rules.claim(
        task,
        { name: holder, leaseMs },
        now,
        n % 3 === 0 && task.phase !== 'done' ? task.holder : undefined,
      ),
    (task) => task.phase !== 'done' && task.wakeAt !== null && !task.holder,
  ),
);

const startChild = pick.map((n) => {
  const request = aTask({ tool: 'summarise', owner: 'mallory', deadlineMs: (n % 50) * 1_000 });
  return onClaim('start child', 'task', n, (task, claim, { now }) =>
    rules.startChild(task, claim, request, now, [{ started: request.id }]),
  );
});

const record = pick.map((n) =>
  onClaim('record', 'task', n, (task, claim, { now }) => rules.record(task, claim, [{ n }], now)),
);

const report = pick.map((n) =>
  onClaim('report', 'task', n, (task, claim, { now }) =>
    rules.report(task, claim, n % 5 === 0 ? {} : { message: `at ${n}`, progress: { done: n } }, now),
  ),
);

const ask = pick.map((n) =>
  onClaim('ask', 'task', n, (task, claim, { now }) =>
    rules.ask(task, claim, { key: `q${n % 2}`, request: n % 7 === 0 ? { kind: 'roots' } : form }, now),
  ),
);

const answer = fc.tuple(pick, pick).map(([n, m]) =>
  onTask(
    'answer',
    'task',
    n,
    (task, { now }) => {
      const given: Record<string, InputResponse> = { nobodyAsked: { action: 'accept' } };
      for (const [index, { key }] of task.inputs.entries())
        if ((m >> index) % 2 === 0) given[key] = responses[(m + index) % (n % 3 === 0 ? 4 : 2)]!;
      return rules.answer(task, given, now);
    },
    ({ phase }) => phase === 'waiting',
  ),
);

const withdraw = pick.map((n) =>
  onTask(
    'withdraw',
    'task',
    n,
    (task, { now }) => rules.withdraw(task, [`q${n % 2}`, `q${n % 2}~2`], now),
    ({ phase }) => phase === 'waiting',
  ),
);

const park = pick.map((n) =>
  onClaim('park', 'task', n, (task, claim, { now }) => {
    const seenVersion = n % 6 === 0 ? task.version - 1 : task.version;
    return rules.park(task, claim, { seenVersion, until: n % 2 === 0 ? null : now + (n % 5_000) }, now);
  }),
);

const release = pick.map((n) =>
  onClaim('release', 'task', n, (task, claim, { now }) => rules.release(task, claim, now)),
);

const complete = pick.map((n) =>
  onClaim('complete', 'lineage', n, (lineage, claim, { now }) =>
    rules.complete(lineage, claim, { kind: 'result', isError: false, value: { n } }, now),
  ),
);

const fail = pick.map((n) =>
  onClaim('fail', 'family', n, (family, claim, { now }) => rules.fail(family, claim, of(failures, n)!, now)),
);

const cancel = pick.map((n) =>
  onTask('cancel', 'family', n, (family, { now }) =>
    rules.cancel(family, now, n % 2 === 0 ? undefined : 'No more.'),
  ),
);

const passDeadline = pick.map((n) =>
  onTask('pass the deadline', 'family', n, (family, { now }) => rules.passDeadline(family, now)),
);

const purge = pick.map((n) =>
  onTask(
    'purge',
    'family',
    n,
    (family, { now }) => rules.purge(family, now),
    (task) => task.phase === 'done',
  ),
);

const crowdOut = pick.map((n) =>
  onTask(
    'crowd out',
    'family',
    n,
    (family, { now }) => rules.crowdOut(family, now - (n % 30_000), now),
    (task) => task.phase === 'done' && n % 4 === 0,
  ),
);

const isUnpublished = (task: Task) => task.unpublished !== undefined && task.phase !== 'done';

const keepForRequest = pick.map((n) =>
  onTask(
    'keep for its request',
    'task',
    n,
    (task, { now, holder }) =>
      rules.keepForRequest(task, { servedBy: holder, until: now + (n % 60_000) }, now),
    isUnpublished,
  ),
);

const publish = pick.map((n) =>
  onTask('publish', 'task', n, (task, { now }) => rules.publish(task, now), isUnpublished),
);

const discard = pick.map((n) =>
  onTask(
    'discard',
    'family',
    n,
    (family, { now }) => rules.discard(family, now),
    (task) => task.unpublished !== undefined && task.phase === 'done',
  ),
);

const deliver = fc.tuple(pick, pick).map(([n, m]) =>
  onTask(
    'deliver',
    'task',
    n,
    (task, { now, holder }) =>
      rules.deliver(
        task,
        `q${m % 2}`,
        { by: m % 7 === 0 ? 'someone' : holder, stream: `s${m % 3}`, until: now + (m % 9_000) },
        now,
        m % 5 === 0 ? 'someone' : undefined,
      ),
    ({ phase }) => phase === 'waiting',
  ),
);

const undeliver = fc.tuple(pick, pick).map(([n, m]) =>
  onTask(
    'undeliver',
    'task',
    n,
    (task, { now }) => {
      const carried = task.inputs.find((input) => input.state === 'open' && input.delivery);
      const delivery = carried?.state === 'open' ? carried.delivery : undefined;
      const stream = m % 4 === 0 ? 'another' : (delivery?.stream ?? 'none');
      return rules.undeliver(task, carried?.key ?? 'q0', delivery?.by ?? 'someone', stream, now);
    },
    ({ phase }) => phase === 'waiting',
  ),
);

const answerTree = fc.tuple(pick, pick).map(([n, m]) =>
  onTask(
    'answer the tree',
    'family',
    n,
    (family, { now }) => {
      const given = [family.task, ...family.descendants].map(({ id, inputs }) => {
        const own = inputs.filter((_, index) => (m >> index) % 2 === 0);
        const answers = own.map(({ key }, index) => [key, responses[(m + index) % (n % 3 === 0 ? 4 : 2)]!]);
        return [id, Object.fromEntries(answers) as Record<string, InputResponse>] as const;
      });
      return rules.answerTree(family, new Map(given), now);
    },
    ({ childCount, phase }) => childCount > 0 && phase !== 'done',
  ),
);

/** Mostly small steps forward; now and then a leap past every deadline, or back. */
const moveClock = fc
  .oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 3_000 }) },
    { weight: 2, arbitrary: fc.integer({ min: 30_000, max: 120_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: -20_000, max: -1 }) },
  )
  .map((ms): Command => ({ type: 'move clock', ms }));

export const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: create },
  { weight: 14, arbitrary: claim },
  { weight: 8, arbitrary: startChild },
  { weight: 6, arbitrary: record },
  { weight: 3, arbitrary: report },
  { weight: 8, arbitrary: ask },
  { weight: 10, arbitrary: answer },
  { weight: 2, arbitrary: withdraw },
  { weight: 5, arbitrary: park },
  { weight: 2, arbitrary: release },
  { weight: 6, arbitrary: complete },
  { weight: 2, arbitrary: fail },
  { weight: 1, arbitrary: cancel },
  { weight: 2, arbitrary: passDeadline },
  { weight: 3, arbitrary: purge },
  { weight: 1, arbitrary: crowdOut },
  { weight: 2, arbitrary: keepForRequest },
  { weight: 2, arbitrary: publish },
  { weight: 2, arbitrary: discard },
  { weight: 4, arbitrary: answerTree },
  { weight: 4, arbitrary: deliver },
  { weight: 2, arbitrary: undeliver },
  { weight: 8, arbitrary: moveClock },
  { weight: 3, arbitrary: pick.map((n): Command => ({ type: 'renew', pick: n })) },
  { weight: 1, arbitrary: fc.constant<Command>({ type: 'crash' }) },
);
