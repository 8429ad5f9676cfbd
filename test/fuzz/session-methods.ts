/**
 * The messages of sessions, in revision 2025-11-25 and in the drafts around it: for each a right one, and the ways in
 * which it can be wrong.
 */
import fc, { type Arbitrary } from 'fast-check';
import { accept, nameAnswer } from './answers.ts';
import { at, type Base, type Flaw, type Outcome } from './draft.ts';
import { anything, halfAPair, not, oddText, prototypeName } from './junk.ts';
import { wrong } from './methods.ts';
import { type Good, invalidParams, invalidRequest, methodNotFound } from './oracle.ts';
import type { Header, Loose } from './requests.ts';

export const taskKey = 'modelcontextprotocol.io/task';
export const relatedKey = 'modelcontextprotocol.io/related-task';

/** What stands in a message for what is made just before it is sent. */
export const fresh = {
  /** A task that sleeps. */
  task: '\u2021task\u2021',
  /** A name that no task has. */
  name: '\u2021name\u2021',
  /** The id of a request in which the server asks for a name. */
  question: '\u2021question\u2021',
} as const;

/** How a client says what it wants. */
export interface SessionDialect {
  readonly name: string;
  /** The drafts that it flags. */
  readonly drafts: readonly string[];
  /** Its tasks are named by their requestor, as in SEP-1686. */
  readonly namesTasks: boolean;
}

const all = ['sep-2229', 'sep-2268', 'sep-2339'];
const dialect = (name: string, drafts: readonly string[] = [], namesTasks = false): SessionDialect => ({
  name,
  drafts,
  namesTasks,
});

export const sessionDialects: readonly SessionDialect[] = [
  dialect('2025-11-25'),
  ...all.map((draft) => dialect(draft, [draft])),
  dialect('all drafts', all),
  dialect('sep-1686', [], true),
];

/** What a session of the server under fire holds, so that bad messages can be about it. */
export interface SessionFacts {
  readonly dialect: SessionDialect;
  /** What every request of the session carries, over HTTP. */
  readonly headers: readonly Header[];
  /** A task that waits for an answer, and must go on waiting. */
  readonly waiting: string;
  /** Whose call is still open under this id. */
  readonly done: string;
  /** Tasks that it may not see: of somebody else, and below another task unless subtasks are known here. */
  readonly unseen: readonly string[];
  /** Where the second page of its tasks begins. */
  readonly cursor: string;
  readonly wrongCursors: readonly string[];
}

export interface SessionMethod {
  readonly base: Base;
  readonly flaws: readonly Arbitrary<Flaw>[];
}

const refused: Outcome = { codes: [invalidParams] };
const notThere: Outcome = { codes: [methodNotFound] };
/** What is not durable cannot be a task, whether it is there or not. */
const noSuchTool: Outcome = { codes: [invalidParams, methodNotFound] };
const isError: Outcome = { good: ['isError'], codes: [invalidParams] };
/** Nobody need answer a notice, and nobody may be hurt by it. */
const passedOver: Outcome = { isNotice: true, codes: [invalidRequest] };
const result: readonly Good[] = ['untyped'];

export function sessionMethods(facts: SessionFacts): SessionMethod[] {
  return [
    ...calls(facts),
    ...aboutTasks(facts),
    ...others(facts),
    ...notices(facts),
    ...(facts.dialect.drafts.includes('sep-2339') ? [] : answers(facts)),
  ];
}

/** Of a session that is to be opened. */
export function openings({ dialect: { drafts }, headers }: SessionFacts): SessionMethod[] {
  const before = headers.filter(([name]) => name !== 'Mcp-Session-Id');
  const params = {
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'fuzz', version: '1' },
    capabilities: { elicitation: {}, experimental: Object.fromEntries(drafts.map((one) => [one, {}])) },
  };
  const message = { jsonrpc: '2.0', id: 'id', method: 'initialize', params };
  return [
    {
      base: { label: 'initialize', message, good: result, inSession: { headers: before } },
      flaws: [
        wrong('protocolVersion', not('string'), refused),
        wrong('protocolVersion', fc.constant(undefined), refused),
        wrong('protocolVersion', oddText, undefined),
        wrong('capabilities', not('object'), refused),
        wrong('capabilities', fc.constant(undefined), refused),
        wrong('capabilities>experimental', not('object'), { ...refused, good: result }),
        wrong('capabilities>tasks', not('object'), { ...refused, good: result }),
        wrong('clientInfo', not('object'), refused),
        wrong('clientInfo', fc.constant(undefined), refused),
        wrong('clientInfo>name', not('string'), refused),
        wrong('anything', anything, undefined),
      ],
    },
  ];
}

function method(
  { headers, dialect: { name } }: SessionFacts,
  message: Loose,
  good: readonly Good[],
  flaws: readonly Arbitrary<Flaw>[],
  more: Partial<Base> = {},
): SessionMethod {
  const label = `${name}: ${more.label ?? message.method}`;
  return {
    base: { message: { jsonrpc: '2.0', ...message }, good, ...more, label, inSession: { headers } },
    flaws,
  };
}

function request(
  facts: SessionFacts,
  name: string,
  params: Loose,
  good: readonly Good[],
  flaws: readonly Arbitrary<Flaw>[],
): SessionMethod {
  const base = { id: 'id', method: name, params };
  return method(
    facts,
    base,
    good,
    [...flaws, wrong('_meta', not('object'), { codes: [invalidRequest, invalidParams] }), extra],
    {
      label: params.name === undefined ? name : `${name} ${params.name}`,
    },
  );
}

const extra: Arbitrary<Flaw> = fc.oneof(
  wrong('anything', anything, undefined),
  prototypeName.map((name) => at(['params', name], { polluted: 'yes' }, undefined)),
  prototypeName.map((name) => at(['params', '_meta', name], { polluted: 'yes' }, undefined)),
);

// --- Calls ------------------------------------------------------------------------------------------------

function calls(facts: SessionFacts): SessionMethod[] {
  const { drafts, namesTasks } = facts.dialect;
  const asTask = namesTasks ? { _meta: { [taskKey]: { taskId: fresh.name } } } : { task: { ttl: 1_000 } };
  const call = (
    name: string,
    args: Loose,
    more: Loose,
    good: readonly Good[],
    flaws: readonly Arbitrary<Flaw>[],
  ) =>
    request(facts, 'tools/call', { name, arguments: args, ...more }, good, [
      wrong('name', not('string'), refused),
      wrong('name', fc.constant(undefined), refused),
      wrong('name', fc.oneof(oddText, prototypeName, fc.constant(halfAPair)), noSuchTool),
      wrong('arguments', not('object'), refused),
      ...flaws,
      ...flaws,
    ]);
  const wishes = namesTasks ? namingFlaws(facts) : ttlFlaws;
  const either: readonly Good[] = ['untyped', 'isError'];
  const unasked = drafts.includes('sep-2229');
  return [
    call('greet', { name: 'Ada' }, {}, result, [wrong('arguments>name', not('string'), isError)]),
    call('nap', { ms: 1 }, asTask, result, [wrong('arguments>ms', not('number'), isError), ...wishes]),
    call('nap', { ms: 1 }, {}, result, [wrong('arguments>ms', not('number'), isError)]),
    call('throws', {}, asTask, either, wishes),
    call('count_sheep', { sheep: 3 }, asTask, result, [
      wrong('arguments>sheep', not('number'), isError),
      wrong('arguments>sheep', fc.constantFrom(0.5, 1e300, 2 ** 60), isError),
    ]),
    // One that must be a task, and one that cannot be.
    call('failing_job', {}, asTask, either, [
      wrong(namesTasks ? `_meta>${taskKey}` : 'task', fc.constant(undefined), {
        codes: [methodNotFound],
        ...(drafts.includes('sep-2229') && { good: either }),
      }),
    ]),
    call('greet', { name: 'Ada' }, {}, result, [
      wrong('task', fc.constantFrom({}, { ttl: 5 }), unasked ? undefined : notThere),
    ]),
  ];
}

/** Of 2025-11-25 and what was built on it. */
const ttlFlaws: readonly Arbitrary<Flaw>[] = [
  wrong('task', not('object'), refused),
  wrong('task>ttl', not('number', 'null'), refused),
  wrong('task>ttl', fc.constantFrom(0, 0.5, 1e308, 2 ** 53), undefined),
  wrong('task>ttl', fc.constantFrom(-1, -0.5, -1e308), { ...refused, good: result }),
  wrong('task>anything', anything, undefined),
];

function namingFlaws({ done }: SessionFacts): Arbitrary<Flaw>[] {
  const place = `_meta>${taskKey}`;
  return [
    wrong(place, not('object'), refused),
    wrong(place, fc.constant({}), refused),
    wrong(`${place}>taskId`, not('string'), refused),
    wrong(`${place}>taskId`, fc.constantFrom('', 'i'.repeat(513)), refused),
    wrong(`${place}>taskId`, fc.constant(done), refused),
    wrong(`${place}>keepAlive`, not('number', 'null'), refused),
    wrong(`${place}>keepAlive`, fc.constantFrom(-1, -1e308), refused),
    wrong(`${place}>keepAlive`, fc.constantFrom(0, 0.5, 1e308), undefined),
    wrong('task', anything, refused),
  ];
}

// --- Tasks ------------------------------------------------------------------------------------------------

function aboutTasks(facts: SessionFacts): SessionMethod[] {
  const { dialect, waiting, done, cursor, wrongCursors } = facts;
  const { drafts, namesTasks } = dialect;
  const about = (taskId: string) => ({
    taskId,
    ...(namesTasks && { _meta: { [relatedKey]: { taskId } } }),
  });
  const ids = idFlaws(facts);
  const get = request(facts, 'tasks/get', about(waiting), result, ids);
  const list = request(facts, 'tasks/list', namesTasks ? { _meta: { [relatedKey]: {} } } : {}, result, [
    wrong('cursor', not('string'), refused),
    wrong('cursor', oddText, refused),
    wrong('cursor', fc.constantFrom(...wrongCursors), refused),
    wrong('cursor', fc.constant(cursor), undefined),
  ]);
  const remove = request(facts, 'tasks/delete', about(fresh.task), result, ids);
  // It fails with whatever the task failed with, and this one did not.
  const outcome = request(facts, 'tasks/result', about(done), ['untyped', 'isError'], ids);
  if (namesTasks) return [get, list, remove, outcome];
  const cancel = request(facts, 'tasks/cancel', about(fresh.task), result, [
    ...ids,
    wrong('taskId', fc.constant(done), refused),
  ]);
  if (!drafts.includes('sep-2339')) return [get, list, cancel, outcome];
  const go = request(facts, 'tasks/continue', about(waiting), result, [
    ...ids,
    wrong('inputResponses', not('object'), refused),
    wrong(
      'inputResponses',
      nameAnswer.map((name) => ({ name })),
      refused,
    ),
    wrong('inputResponses', fc.constantFrom({}, { nobody: accept({}) }), undefined),
  ]);
  return [get, list, cancel, go, go];
}

function idFlaws({ unseen, waiting, dialect }: SessionFacts): Arbitrary<Flaw>[] {
  const almost = [waiting.slice(0, -1), `${waiting}a`, ` ${waiting}`, `${waiting}\u0000`];
  // What marks a request as one of SEP-1686 need not name the same task, and is not looked at.
  return [
    wrong('taskId', not('string'), refused),
    wrong('taskId', fc.constant(undefined), refused),
    wrong('taskId', fc.oneof(oddText, prototypeName, fc.constant(halfAPair)), refused),
    wrong('taskId', fc.constantFrom(...unseen, ...almost), refused),
    wrong('taskId', fc.constant('i'.repeat(40_000)), refused),
    ...(dialect.namesTasks ? [wrong(`_meta>${relatedKey}`, anything, undefined)] : []),
  ];
}

// --- The rest ---------------------------------------------------------------------------------------------

function others(facts: SessionFacts): SessionMethod[] {
  const asked = (name: string, params: Loose, flaws: readonly Arbitrary<Flaw>[] = []) =>
    request(facts, name, params, result, flaws);
  const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
  return [
    asked('ping', {}),
    asked('tools/list', {}, [wrong('cursor', not('string'), refused)]),
    asked('resources/list', {}),
    asked('resources/templates/list', {}),
    asked('prompts/list', {}),
    asked('resources/read', { uri: 'test://static-text' }, uriFlaws),
    asked('resources/read', { uri: 'report://x' }, uriFlaws),
    asked('prompts/get', { name: 'test_simple_prompt' }, [
      wrong('name', not('string'), refused),
      wrong('name', fc.oneof(oddText, prototypeName), refused),
      wrong('arguments', not('object'), refused),
    ]),
    asked('prompts/get', { name: 'letter', arguments: { to: 'Ada' } }, [
      wrong('arguments>to', not('string'), refused),
      wrong('arguments', fc.constant({}), refused),
    ]),
    asked('logging/setLevel', { level: 'info' }, [
      wrong('level', not('string'), refused),
      wrong('level', oddText, refused),
    ]),
    asked('completion/complete', { ref, argument: { name: 'arg1', value: 'pa' } }, [
      wrong('ref', not('object'), refused),
      wrong('ref>type', anything, refused),
      wrong('ref>name', fc.oneof(not('string'), oddText), refused),
      wrong('argument', not('object'), refused),
      wrong('argument>value', not('string'), refused),
    ]),
  ];
}

const uriFlaws: readonly Arbitrary<Flaw>[] = [
  wrong('uri', not('string'), refused),
  wrong('uri', fc.constant(undefined), refused),
  wrong('uri', fc.constantFrom('', 'report:', '//', 'test://nobody', 'report', 'other:///x'), refused),
  wrong('uri', fc.oneof(oddText, prototypeName), { ...refused, good: result }),
];

function notices(facts: SessionFacts): SessionMethod[] {
  const notice = (name: string, params: Loose, flaws: readonly Arbitrary<Flaw>[] = []) =>
    method(facts, { method: name, params }, [], [...flaws, noticeExtra, unreadParams], { isNotice: true });
  return [
    notice('notifications/initialized', {}),
    notice('notifications/cancelled', { requestId: 'nobody' }, [
      wrong('requestId', fc.oneof(anything, fc.constant(undefined)), passedOver),
      wrong('reason', anything, passedOver),
    ]),
    notice('notifications/progress', { progressToken: 0, progress: 1 }, [
      wrong('progressToken', anything, passedOver),
      wrong('progress', anything, passedOver),
    ]),
    notice('notifications/tasks/status', { taskId: facts.waiting, status: 'cancelled' }, [
      wrong('taskId', anything, passedOver),
      wrong('status', anything, passedOver),
    ]),
    notice('notifications/roots/list_changed', {}),
    notice('notifications/nobody', {}),
  ];
}

const noticeExtra = wrong('anything', anything, { isNotice: true });
const unreadParams = not('object').map((params) => at(['params'], params, passedOver));

/** What a client says to a question: whatever it is, it has no answer. */
function answers(facts: SessionFacts): SessionMethod[] {
  const said = (label: string, message: Loose, flaws: readonly Arbitrary<Flaw>[]) =>
    method(facts, message, [], flaws, { isNotice: true, label });
  const strange = [
    fc.oneof(oddText, fc.integer()).map((id) => at(['id'], id, { isNotice: true })),
    anything.map((value) => at(['anything'], value, passedOver)),
  ];
  return [
    said('an answer', { id: fresh.question, result: accept({ name: 'Ada' }) }, [
      nameAnswer.map((answer) => at(['result'], answer, passedOver)),
      fc
        .constantFrom(' ', '0', '-', 'x')
        .map((more) => at(['id'], `${fresh.question}${more}`, { isNotice: true })),
      ...strange,
    ]),
    said('a refusal', { id: fresh.question, error: { code: -1, message: 'No.' } }, [
      wrongError('code', not('number')),
      wrongError('message', not('string')),
      anything.map((error) => at(['error'], error, passedOver)),
      ...strange,
    ]),
  ];
}

function wrongError(path: string, value: Arbitrary<Loose>): Arbitrary<Flaw> {
  return value.map((one) => at(['error', path], one, passedOver));
}
