/** The methods of 2026-07-28: for each a right request, and the ways in which it can be wrong. */
import fc, { type Arbitrary } from 'fast-check';
import { idempotencyKey } from '../../../src/dialects/2026-07-28/names.ts';
import { nameAnswer, strayAnswers, wrongAnswers } from './answers.ts';
import { byteFlaws } from './byte-flaws.ts';
import { type Base, type Flaw, type Flaws, type Method, type Outcome, typed, wrong } from './draft.ts';
import { envelopeFlaws, frameFlaws, harmless, polluting, revisionFlaws, type WithoutTasks } from './flaws.ts';
import { httpFlaws, mirrorFlaws, revisionHeaderFlaws } from './http-flaws.ts';
import { anything, halfAPair, not, oddText, prototypeName } from './junk.ts';
import type { Good } from './oracle.ts';
import { type Loose, request } from './requests.ts';
import { type Staged, withoutTasks } from './stage.ts';

/** What the server under fire holds, so that bad messages can be about it. */
export interface Facts extends Staged {
  readonly foreign: string;
  /** Tasks that exist and that nobody may see: of a call that waits, and below another task. */
  readonly hidden: readonly string[];
  /** Nobody else is there to guess a key. */
  readonly isAlone?: boolean;
  /** They look like that of the parked call. */
  readonly wrongStates: readonly string[];
}

/** A right request, what can be wrong with its params, and what comes of it if its sender takes no tasks. */
type Row = readonly [base: Base, params: Flaws, withoutTasks?: WithoutTasks | undefined];

/** `overHttp` is false where there is nothing but messages. */
export function methods(facts: Facts, overHttp: boolean): Method[] {
  const rows = [...calls(facts), ...taskMethods(facts), ...continued(facts), listen(facts), ...others];
  return rows.map(([base, params, without = { good: base.good }]) => ({
    base,
    flaws: {
      params,
      frame: frameFlaws,
      envelope: [...envelopeFlaws(without, overHttp), ...(overHttp ? revisionHeaderFlaws : revisionFlaws)],
      bytes: byteFlaws(overHttp),
      harmless,
      ...(overHttp && { mirror: mirrorFlaws(base), http: httpFlaws }),
    },
  }));
}

function basic(name: string, params: Loose, good: Good, label = name): Base {
  return { label, message: request('id', name, params), good: [good] };
}

const refused = (words: RegExp): Outcome => ({ codes: ['invalidParams'], words });
const needsTasks = (row: string): WithoutTasks => ({
  codes: ['missingCapability'],
  words: /io\.modelcontextprotocol\/tasks/,
  rows: [row, 'S2026-02'],
});
const mustBeTask = needsTasks('S2663-09');
const unsayable: Outcome = { codes: ['invalidParams', 'headerMismatch'] };

const isError: Outcome = { good: ['isError'] };
const asks: Outcome = { good: ['input_required', 'complete', 'isError'], codes: ['missingCapability'] };
const waits: Outcome = { good: ['complete'] };

function calls(facts: Facts): Row[] {
  return [
    call(facts, 'greet', { name: 'Ada' }, 'complete', ofArguments('name string')),
    call(facts, 'nap', { ms: 1 }, 'task', ofArguments('ms number'), waits),
    call(facts, 'confirm_delete', { filename: 'x' }, 'task', ofArguments('filename string'), asks),
    call(facts, 'leaf', { label: 'a', delayMs: 0 }, 'task', ofLeaf, waits),
    call(facts, 'ask_name', {}, 'task', [], asks),
    call(facts, 'failing_job', {}, 'task', [], mustBeTask),
    call(facts, 'test_tool_with_task', {}, 'input_required', ofArguments('user_name string'), mustBeTask),
  ];
}

function ofArguments(...kinds: readonly string[]): Flaws {
  return typed(isError, ...kinds.map((kind) => `arguments>${kind}`));
}

const ofLeaf: Flaws = [
  ...ofArguments('label string', 'delayMs number', 'ask boolean'),
  wrong('arguments>delayMs', [-1, -0.5, -1e308], isError),
];

function call(facts: Facts, tool: string, args: Loose, good: Good, own: Flaws, without?: WithoutTasks): Row {
  const isDurable = tool !== 'greet';
  const base = basic('tools/call', { name: tool, arguments: args }, good, `tools/call ${tool}`);
  const noSuchTool = refused(/Tool [\s\S]*(not found|disabled)|name/);
  const states = fc.oneof(oddText, fc.constantFrom(...facts.wrongStates));
  const flaws = [
    ...typed(refused(/name/), 'name string!'),
    wrong('name', oddText, noSuchTool),
    wrong('name', prototypeName, noSuchTool),
    wrong('name', [halfAPair], unsayable),
    ...typed(refused(/arguments/), 'arguments object'),
    polluting('params>arguments'),
    wrong('inputResponses', not('object'), { good: [good], codes: ['invalidParams'] }),
    wrong('inputResponses', strayAnswers),
    wrong('requestState', not('string'), refused(/requestState/)),
    // A plain tool has no use for it and does not look.
    wrong('requestState', states, isDurable ? refused(/requestState/) : undefined),
    ...(isDurable ? keyFlaws(facts, tool) : [wrong(`_meta>${idempotencyKey}`, anything)]),
    // Twice, because they are the point of the call.
    ...[...own, ...own],
  ];
  return [base, flaws, without];
}

function keyFlaws({ usedKey, isAlone = false }: Facts, tool: string): Flaws {
  const place = `_meta>${idempotencyKey}`;
  const badKey = refused(/idempotency-key/);
  const taken: Outcome = { ...refused(/idempotency key .* other arguments/), ofTasks: true };
  const guessable = [wrong(place, fc.string({ maxLength: 21 }), badKey), wrong(place, prototypeName, badKey)];
  return [
    wrong(place, not('string'), badKey),
    ...(isAlone ? [] : guessable),
    ...(tool === 'nap' ? [wrong(place, [usedKey], taken)] : []),
  ];
}

/** Calls that come back with a state: bad answers leave the question open, and no state but the right one is taken. */
function continued({ parked, wrongStates, gathering }: Facts): Row[] {
  const call = (name: string, more: Loose) =>
    basic('tools/call', { name, arguments: {}, ...more }, 'input_required', `continued ${name}`);
  const badState = refused(/requestState/);
  const common = [
    wrong('inputResponses', strayAnswers),
    wrong('arguments', [{ user_name: 'Eve' }, { extra: 1 }], badState),
    ...wrongStates.map((state) => wrong('requestState', [state], badState, 'S2322-14')),
  ];
  return [
    [
      call('ask_name', { requestState: parked, _meta: withoutTasks }),
      [
        wrong('inputResponses', wrongAnswers.ask_name!, refused(/answer to "name"/)),
        wrong('name', ['multi_input', 'sample'], badState),
        ...common,
      ],
      { good: ['input_required'], codes: ['missingCapability'] },
    ],
    [
      call('test_tool_with_task', { requestState: gathering }),
      [
        wrong(
          'inputResponses',
          nameAnswer.map((user_name) => ({ user_name })),
          { ...refused(/answer to "user_name"/), good: ['input_required'] },
        ),
        ...common,
      ],
      mustBeTask,
    ],
  ];
}

function taskMethods(facts: Facts): Row[] {
  const { waiting, done } = facts;
  const get = Object.entries(waiting).map(([tool, taskId]): Row => {
    const base = basic('tasks/get', { taskId }, 'complete', `tasks/get ${tool}`);
    return [base, idFlaws(facts, 'S2663-73'), needsTasks('S2663-76')];
  });
  const update = Object.entries(waiting).map(([tool, taskId]): Row => {
    const base = basic('tasks/update', { taskId, inputResponses: {} }, 'complete', `tasks/update ${tool}`);
    const flaws = [
      ...idFlaws(facts, 'S2663-74'),
      ...typed(refused(/inputResponses/), 'inputResponses object!'),
      wrong('inputResponses', strayAnswers, undefined, 'S2663-55'),
      ...[1, 2, 3, 4].map(() => wrong('inputResponses', wrongAnswers[tool]!, refused(/answer to "/))),
    ];
    return [base, flaws, needsTasks('S2663-76')];
  });
  const cancel = basic('tasks/cancel', { taskId: done }, 'complete');
  const cancels = [1, 2].map((): Row => [cancel, idFlaws(facts, 'S2663-74'), needsTasks('S2663-76')]);
  return [...get, ...update, ...cancels];
}

export function almost(id: string): string[] {
  return [id.slice(0, -1), `${id}a`, ` ${id}`, `${id}\u0000`];
}

function idFlaws({ foreign, hidden, waiting }: Facts, row: string): Arbitrary<Flaw>[] {
  const [one = ''] = Object.values(waiting);
  const noSuchTask = refused(/no task/);
  return [
    wrong('taskId', not('string'), refused(/taskId/), row),
    wrong('taskId', [undefined], refused(/taskId/)),
    wrong('taskId', oddText, noSuchTask, row),
    wrong('taskId', prototypeName, noSuchTask, row),
    wrong('taskId', [halfAPair], unsayable),
    wrong('taskId', [foreign], noSuchTask, row, 'S2663-98'),
    wrong('taskId', hidden, noSuchTask, row),
    wrong('taskId', [...almost(one), one.toUpperCase(), [...one].reverse().join('')], noSuchTask, row),
    wrong('taskId', ['i'.repeat(6_000)], noSuchTask),
    wrong('taskId', ['i'.repeat(40_000)], { ...noSuchTask, statuses: [431], mayBeCut: true }),
  ];
}

function listen({ waiting, foreign, hidden }: Facts): Row {
  const taskIds = Object.values(waiting);
  const place = 'notifications>taskIds';
  const badFilter = refused(/notifications/);
  const notAnId = not('string').chain((bad) =>
    fc.shuffledSubarray([bad, ...taskIds], { minLength: 1 }).map((some) => [bad, ...some]),
  );
  const unseen = fc
    .array(fc.oneof(oddText, fc.constantFrom(...taskIds)), { maxLength: 4 })
    .map((ids) => [...ids, foreign, ...hidden]);
  const flaws = [
    ...typed(badFilter, 'notifications object!', `${place} list`),
    ...typed(badFilter, 'notifications>toolsListChanged boolean', 'notifications>resourceSubscriptions list'),
    wrong(place, notAnId, badFilter),
    // Nothing of what may not be seen is acknowledged, and nobody is told that it exists.
    wrong(place, unseen, undefined, 'S2663-99'),
  ];
  const base = basic('subscriptions/listen', { notifications: { taskIds } }, 'stream');
  return [{ ...base, visible: taskIds }, flaws, needsTasks('S2663-67')];
}

const others = ['server/discover', 'tools/list'].map(
  (name): Row => [basic(name, {}, 'complete'), [wrong('anything', anything)]],
);
