/** The methods of the dialect: for each a right request, and the ways in which its params can be wrong. */
import fc, { type Arbitrary } from 'fast-check';
import { idempotencyKey } from '../../src/protocol/dialects/2026-07-28/names.ts';
import { nameAnswer, strayAnswers, wrongAnswers } from './answers.ts';
import { at, type Base, type Flaw, type Outcome } from './draft.ts';
import { anything, halfAPair, not, oddText, prototypeName } from './junk.ts';
import { type Good, headerMismatch, invalidParams, missingCapability } from './oracle.ts';
import { type Loose, request } from './requests.ts';

/** What the server under fire holds, so that bad messages can be about it. */
export interface Facts {
  /** By tool: a task of its that waits for answers, and must go on waiting. */
  readonly waiting: Readonly<Record<string, string>>;
  readonly done: string;
  /** A task of somebody else. */
  readonly foreign: string;
  /** Tasks that exist and that nobody may see: of a call that waits, and below another task. */
  readonly hidden: readonly string[];
  /** A key that stands for a call of `nap` with other arguments. */
  readonly usedKey: string;
  /** Nobody else is there to guess a key. */
  readonly isAlone?: boolean;
  /** A call of `ask_name` that is parked at its question, and states that look like its own. */
  readonly parked: string;
  readonly wrongStates: readonly string[];
  /** A call of `test_tool_with_task` that has not been answered. */
  readonly gathering: string;
}

/** A method and all that can be wrong with its params. */
export interface Method {
  readonly base: Base;
  readonly flaws: readonly Arbitrary<Flaw>[];
  /** What comes of it if the sender does not declare the extension, and which requirement that keeps. */
  readonly withoutTasks: Outcome & { readonly rows?: readonly string[] };
}

const refused = (words: RegExp): Outcome => ({ codes: [invalidParams], words });
const needsTasks = (row: string) => ({
  codes: [missingCapability],
  words: /io\.modelcontextprotocol\/tasks/,
  rows: [row, 'S2026-02'],
});
const noSuchTask = refused(/no task/);

export function methods(facts: Facts): Method[] {
  return [...calls(facts), ...taskMethods(facts), ...continued(facts), listen(facts), ...others()];
}

function method(
  base: Base,
  flaws: readonly Arbitrary<Flaw>[],
  withoutTasks: Method['withoutTasks'] = { good: base.good },
): Method {
  return { base, flaws, withoutTasks };
}

function basic(name: string, params: Loose, good: readonly Good[], label = name): Base {
  return { label, message: request('id', name, params), good };
}

/** A wrong value, or one that only looks wrong, somewhere in the params. */
export function wrong(
  path: string,
  value: Arbitrary<Loose>,
  outcome: Outcome | undefined,
  ...rows: readonly string[]
): Arbitrary<Flaw> {
  return value.map((one) => at(['params', ...path.split('>')], one, outcome, rows));
}

// --- tools/call -------------------------------------------------------------------------------------------

const isError: Outcome = { good: ['isError'] };
const noSuchTool = refused(/Tool [\s\S]*(not found|disabled)|name/);

function calls(facts: Facts): Method[] {
  const asks: Outcome = { good: ['input_required', 'complete', 'isError'], codes: [missingCapability] };
  const waits: Outcome = { good: ['complete'] };
  return [
    call(facts, 'greet', { name: 'Ada' }, ['complete'], [wrong('arguments>name', not('string'), isError)]),
    call(facts, 'nap', { ms: 1 }, ['task'], [wrong('arguments>ms', not('number'), isError)], waits),
    call(
      facts,
      'confirm_delete',
      { filename: 'x' },
      ['task'],
      [wrong('arguments>filename', not('string'), isError)],
      asks,
    ),
    call(
      facts,
      'leaf',
      { label: 'a', delayMs: 0 },
      ['task'],
      [
        wrong('arguments>label', not('string'), isError),
        wrong('arguments>delayMs', not('number'), isError),
        wrong('arguments>ask', not('boolean'), isError),
        wrong('arguments>delayMs', fc.constantFrom(-1, -0.5, -1e308), isError),
      ],
      waits,
    ),
    call(facts, 'ask_name', {}, ['task'], [], asks),
    call(facts, 'failing_job', {}, ['task'], [], needsTasks('S2663-09')),
    call(
      facts,
      'test_tool_with_task',
      {},
      ['input_required'],
      [wrong('arguments>user_name', not('string'), isError)],
      needsTasks('S2663-09'),
    ),
  ];
}

function call(
  facts: Facts,
  tool: string,
  args: Loose,
  good: readonly Good[],
  flaws: readonly Arbitrary<Flaw>[],
  withoutTasks?: Method['withoutTasks'],
): Method {
  const isDurable = tool !== 'greet';
  const base = basic('tools/call', { name: tool, arguments: args }, good, `tools/call ${tool}`);
  const either: Outcome = { good, codes: [invalidParams] };
  const common = [
    wrong('name', not('string'), refused(/name/)),
    wrong('name', oddText, noSuchTool),
    wrong('name', prototypeName, noSuchTool),
    wrong('name', fc.constant(halfAPair), { codes: [invalidParams, headerMismatch] }),
    wrong('name', fc.constant(undefined), refused(/name/)),
    wrong('arguments', not('object'), refused(/arguments/)),
    prototypeName.map((name) => at(['params', 'arguments', name], { polluted: 'yes' }, undefined)),
    wrong('inputResponses', not('object'), either),
    wrong('inputResponses', strayAnswers, undefined),
    wrong('requestState', not('string'), refused(/requestState/)),
    // A plain tool has no use for it and does not look.
    wrong(
      'requestState',
      fc.oneof(oddText, fc.constantFrom(...facts.wrongStates)),
      isDurable ? refused(/requestState/) : undefined,
    ),
    ...(isDurable ? keyFlaws(facts, tool) : [wrong(`_meta>${idempotencyKey}`, anything, undefined)]),
  ];
  return method(base, [...common, ...flaws, ...flaws], withoutTasks);
}

function keyFlaws({ usedKey, isAlone = false }: Facts, tool: string): Arbitrary<Flaw>[] {
  const place = `_meta>${idempotencyKey}`;
  const flaws = [
    wrong(place, not('string'), refused(/idempotency-key/)),
    ...(isAlone
      ? []
      : [
          wrong(place, fc.string({ maxLength: 21 }), refused(/idempotency-key/)),
          wrong(place, prototypeName, refused(/idempotency-key/)),
        ]),
  ];
  if (tool !== 'nap') return flaws;
  const taken: Outcome = { ...refused(/idempotency key .* other arguments/), ofTasks: true };
  return [...flaws, wrong(place, fc.constant(usedKey), taken)];
}

/** Calls that come back with a state: bad answers leave the question open, and no state but the right one is taken. */
function continued({ parked, wrongStates, gathering }: Facts): Method[] {
  const withoutExtension = { elicitation: { form: {} }, sampling: {} };
  const parkedCall = basic(
    'tools/call',
    { name: 'ask_name', arguments: {}, requestState: parked },
    ['input_required'],
    'continued ask_name',
  );
  parkedCall.message.params._meta['io.modelcontextprotocol/clientCapabilities'] = withoutExtension;
  const before = basic(
    'tools/call',
    { name: 'test_tool_with_task', arguments: {}, requestState: gathering },
    ['input_required'],
    'continued test_tool_with_task',
  );
  const states = wrongStates.map((state) =>
    wrong('requestState', fc.constant(state), refused(/requestState/), 'S2322-14'),
  );
  const argumentsOfAnother = fc.constantFrom({ user_name: 'Eve' }, { extra: 1 });
  return [
    method(
      parkedCall,
      [
        wrong('inputResponses', wrongAnswers.ask_name!, refused(/answer to "name"/)),
        wrong('inputResponses', strayAnswers, undefined),
        wrong('arguments', argumentsOfAnother, refused(/requestState/)),
        wrong('name', fc.constantFrom('multi_input', 'sample'), refused(/requestState/)),
        ...states,
      ],
      { good: ['input_required'], codes: [missingCapability] },
    ),
    method(
      before,
      [
        wrong(
          'inputResponses',
          nameAnswer.map((user_name) => ({ user_name })),
          {
            ...refused(/answer to "user_name"/),
            good: ['input_required'],
          },
        ),
        wrong('inputResponses', strayAnswers, undefined),
        wrong('arguments', argumentsOfAnother, refused(/requestState/)),
        ...states,
      ],
      needsTasks('S2663-09'),
    ),
  ];
}

// --- tasks/* ----------------------------------------------------------------------------------------------

function taskMethods(facts: Facts): Method[] {
  const { waiting, done } = facts;
  const get = Object.entries(waiting).map(([tool, taskId]) =>
    method(
      basic('tasks/get', { taskId }, ['complete'], `tasks/get ${tool}`),
      idFlaws(facts, 'S2663-73'),
      needsTasks('S2663-76'),
    ),
  );
  const update = Object.entries(waiting).map(([tool, taskId]) =>
    method(
      basic('tasks/update', { taskId, inputResponses: {} }, ['complete'], `tasks/update ${tool}`),
      [
        ...idFlaws(facts, 'S2663-74'),
        wrong('inputResponses', not('object'), refused(/inputResponses/)),
        wrong('inputResponses', fc.constant(undefined), refused(/inputResponses/)),
        wrong('inputResponses', strayAnswers, undefined, 'S2663-55'),
        ...[1, 2, 3, 4].map(() => wrong('inputResponses', wrongAnswers[tool]!, refused(/answer to "/))),
      ],
      needsTasks('S2663-76'),
    ),
  );
  const cancel = method(
    basic('tasks/cancel', { taskId: done }, ['complete']),
    idFlaws(facts, 'S2663-74'),
    needsTasks('S2663-76'),
  );
  return [...get, ...update, cancel, cancel];
}

function idFlaws({ foreign, hidden, waiting }: Facts, row: string): Arbitrary<Flaw>[] {
  const [one = ''] = Object.values(waiting);
  const almost = [
    one.slice(0, -1),
    `${one}a`,
    one.toUpperCase(),
    ` ${one}`,
    `${one}\u0000`,
    [...one].reverse().join(''),
  ];
  return [
    wrong('taskId', not('string'), refused(/taskId/), row),
    wrong('taskId', fc.constant(undefined), refused(/taskId/)),
    wrong('taskId', oddText, noSuchTask, row),
    wrong('taskId', prototypeName, noSuchTask, row),
    wrong('taskId', fc.constant(halfAPair), { codes: [invalidParams, headerMismatch] }),
    wrong('taskId', fc.constant(foreign), noSuchTask, row, 'S2663-98'),
    wrong('taskId', fc.constantFrom(...hidden), noSuchTask, row),
    wrong('taskId', fc.constantFrom(...almost), noSuchTask, row),
    wrong('taskId', fc.constant('i'.repeat(6_000)), noSuchTask),
    wrong('taskId', fc.constant('i'.repeat(40_000)), { ...noSuchTask, statuses: [431], mayBeCut: true }),
  ];
}

// --- The rest ---------------------------------------------------------------------------------------------

function listen({ waiting, foreign, hidden }: Facts): Method {
  const taskIds = Object.values(waiting);
  const place = 'notifications>taskIds';
  const badFilter = refused(/notifications/);
  const notAnId = not('string').chain((bad) =>
    fc.shuffledSubarray([bad, ...taskIds], { minLength: 1 }).map((some) => [bad, ...some]),
  );
  return method(
    basic('subscriptions/listen', { notifications: { taskIds } }, ['stream']),
    [
      wrong('notifications', not('object'), badFilter),
      wrong('notifications', fc.constant(undefined), badFilter),
      wrong(place, not('list'), badFilter),
      wrong(place, notAnId, badFilter),
      // Nothing of what may not be seen is acknowledged, and nobody is told that it exists.
      wrong(
        place,
        fc
          .array(fc.oneof(oddText, fc.constantFrom(...taskIds)), { maxLength: 4 })
          .map((ids) => [...ids, foreign, ...hidden]),
        undefined,
        'S2663-99',
      ),
      wrong('notifications>toolsListChanged', not('boolean'), badFilter),
      wrong('notifications>resourceSubscriptions', not('list'), badFilter),
    ],
    needsTasks('S2663-67'),
  );
}

function others(): Method[] {
  const extra = wrong('anything', anything, undefined);
  return ['server/discover', 'tools/list'].map((name) => method(basic(name, {}, ['complete']), [extra]));
}

/** Names of methods that there are none of, the two that this revision has dropped among them. */
export const unknownMethods: Arbitrary<string> = fc.oneof(
  fc.constantFrom('tasks/result', 'tasks/list'),
  fc.constantFrom(
    'tasks/delete',
    'tasks/continue',
    'tasks/',
    'tasks',
    'Tasks/get',
    'tasks/get ',
    'tasks/get/x',
  ),
  fc.constantFrom(
    'initialized',
    'ping',
    'logging/setLevel',
    'resources/read',
    'prompts/get',
    'sampling/createMessage',
  ),
  prototypeName,
  oddText.filter((text) => text.length < 1_000),
);
