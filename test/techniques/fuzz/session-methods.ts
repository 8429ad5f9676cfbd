/**
 * The messages of sessions, in revision 2025-11-25 and in the drafts around it: for each a right one, and the ways in
 * which it can be wrong.
 */
import fc from 'fast-check';
import { relatedTask as relatedKey, taskKey } from '../../dialects/sep-1686/requestor.ts';
import { accept, nameAnswer, wrongAnswers } from './answers.ts';
import { type Base, bad, type Flaws, type Method, type Outcome, typed, wrong } from './draft.ts';
import { polluting } from './flaws.ts';
import { anything, halfAPair, not, oddText, prototypeName } from './junk.ts';
import { almost } from './methods.ts';
import type { Good } from './oracle.ts';
import type { Header, Loose } from './requests.ts';
import { inSession } from './session-flaws.ts';

/** What stands in a message for what is made just before it is sent. */
export const fresh = {
  task: '\u2021task\u2021',
  name: '\u2021name\u2021',
  /** The id of a request in which the server asks for a name. */
  question: '\u2021question\u2021',
} as const;

export interface SessionDialect {
  readonly name: string;
  readonly drafts: readonly string[];
  /** Its tasks are named by their requestor, as in SEP-1686. */
  readonly namesTasks?: boolean;
}

const all = ['sep-2229', 'sep-2268', 'sep-2339'];

export const sessionDialects: readonly SessionDialect[] = [
  { name: '2025-11-25', drafts: [] },
  ...all.map((name) => ({ name, drafts: [name] })),
  { name: 'all drafts', drafts: all },
  { name: 'sep-1686', drafts: [], namesTasks: true },
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
  readonly cursor: string;
  readonly wrongCursors: readonly string[];
}

/** A right message, the ways in which its params can be wrong, and more of what it is. */
type Row = readonly [message: Loose, params: Flaws, more: Partial<Base>];

const refused: Outcome = { codes: ['invalidParams'] };
/** Either way is right. */
const passable: Outcome = { codes: ['invalidParams'], good: ['untyped'] };
const isError: Outcome = { good: ['isError'], codes: ['invalidParams'] };
/** Nobody need answer a notice, and nobody may be hurt by it. */
const passedOver: Outcome = { isNotice: true, codes: ['invalidRequest'] };
const result: readonly Good[] = ['untyped'];
const either: readonly Good[] = ['untyped', 'isError'];
const oddName = fc.oneof(oddText, prototypeName, fc.constant(halfAPair));

export function sessionMethods(facts: SessionFacts, overHttp: boolean): Method[] {
  const { dialect, headers } = facts;
  const rows = [
    ...calls(facts),
    ...aboutTasks(facts),
    ...others,
    ...notices(facts),
    ...(dialect.drafts.includes('sep-2339') ? [] : answers),
    ...(overHttp ? [opening(facts)] : []),
  ];
  return rows.map(([message, params, more]) => {
    const label = [`${dialect.name}:`, more.label ?? message.method, message.params?.name ?? '']
      .join(' ')
      .trim();
    const full = { jsonrpc: '2.0', ...message };
    return inSession({ message: full, good: result, inSession: headers, ...more, label }, params, overHttp);
  });
}

function request(method: string, params: Loose, flaws: Flaws = [], good = result): Row {
  const more = fc.oneof(wrong('anything', anything), polluting('params'), polluting('params>_meta'));
  const badMeta = wrong('_meta', not('object'), { codes: ['invalidRequest', 'invalidParams'] });
  return [{ id: 'id', method, params }, [...flaws, badMeta, more], { good }];
}

/** Of a session that is to be opened. */
function opening({ dialect: { drafts }, headers }: SessionFacts): Row {
  const params = {
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'fuzz', version: '1' },
    capabilities: { elicitation: {}, experimental: Object.fromEntries(drafts.map((one) => [one, {}])) },
  };
  const flaws = [
    ...typed(refused, 'protocolVersion string!', 'capabilities object!'),
    ...typed(refused, 'clientInfo object!', 'clientInfo>name string'),
    ...typed(passable, 'capabilities>experimental object', 'capabilities>tasks object'),
    wrong('protocolVersion', oddText),
    wrong('anything', anything),
  ];
  const before = headers.filter(([name]) => name !== 'Mcp-Session-Id');
  return [{ id: 'id', method: 'initialize', params }, flaws, { inSession: before }];
}

function calls(facts: SessionFacts): Row[] {
  const { drafts, namesTasks } = facts.dialect;
  const asTask = namesTasks ? { _meta: { [taskKey]: { taskId: fresh.name } } } : { task: { ttl: 1_000 } };
  // What is not durable cannot be a task, whether it is there or not.
  const noSuchTool: Outcome = { codes: ['invalidParams', 'methodNotFound'] };
  const call = (name: string, args: Loose, more: Loose, flaws: Flaws, good?: readonly Good[]) => {
    const common = [
      ...typed(refused, 'name string!', 'arguments object'),
      wrong('name', oddName, noSuchTool),
    ];
    // Twice, because they are the point of the call.
    return request('tools/call', { name, arguments: args, ...more }, [...common, ...flaws, ...flaws], good);
  };
  const options = namesTasks ? namingFlaws(facts) : ttlFlaws;
  const unasked = drafts.includes('sep-2229');
  const notTask: Outcome = { codes: ['methodNotFound'], ...(unasked && { good: either }) };
  return [
    call('greet', { name: 'Ada' }, {}, typed(isError, 'arguments>name string')),
    call('nap', { ms: 1 }, asTask, [...typed(isError, 'arguments>ms number'), ...options]),
    call('nap', { ms: 1 }, {}, typed(isError, 'arguments>ms number')),
    call('throws', {}, asTask, options, either),
    call('count_sheep', { sheep: 3 }, asTask, [
      ...typed(isError, 'arguments>sheep number'),
      wrong('arguments>sheep', [0.5, 1e300, 2 ** 60], isError),
    ]),
    // One that must be a task, and one that cannot be.
    call(
      'failing_job',
      {},
      asTask,
      [wrong(namesTasks ? `_meta>${taskKey}` : 'task', [undefined], notTask)],
      either,
    ),
    call('greet', { name: 'Ada' }, {}, [
      wrong('task', [{}, { ttl: 5 }], unasked ? undefined : { codes: ['methodNotFound'] }),
    ]),
  ];
}

/** Of 2025-11-25 and what was built on it. */
const ttlFlaws: Flaws = [
  wrong('task', not('object'), refused),
  wrong('task>ttl', not('number', 'null'), refused),
  wrong('task>ttl', [0, 0.5, 1e308, 2 ** 53]),
  wrong('task>ttl', [-1, -0.5, -1e308], passable),
  wrong('task>anything', anything),
];

function namingFlaws({ done }: SessionFacts): Flaws {
  const place = `_meta>${taskKey}`;
  return [
    ...typed(refused, `${place} object`, `${place}>taskId string`),
    wrong(place, [{}], refused),
    wrong(`${place}>taskId`, ['', 'i'.repeat(513), done], refused),
    wrong(`${place}>keepAlive`, not('number', 'null'), refused),
    wrong(`${place}>keepAlive`, [-1, -1e308], refused),
    wrong(`${place}>keepAlive`, [0, 0.5, 1e308]),
    wrong('task', anything, refused),
  ];
}

function aboutTasks(facts: SessionFacts): Row[] {
  const { dialect, waiting, done, cursor, wrongCursors } = facts;
  const { drafts, namesTasks } = dialect;
  const about = (id: Loose) => ({ ...id, ...(namesTasks && { _meta: { [relatedKey]: id } }) });
  const ids = idFlaws(facts);
  const get = request('tasks/get', about({ taskId: waiting }), ids);
  const list = request('tasks/list', about({}), [
    ...typed(refused, 'cursor string'),
    wrong('cursor', oddText, refused),
    wrong('cursor', wrongCursors, refused),
    wrong('cursor', [cursor]),
  ]);
  // It fails with whatever the task failed with, and this one did not.
  const outcome = request('tasks/result', about({ taskId: done }), ids, either);
  if (namesTasks) return [get, list, request('tasks/delete', about({ taskId: fresh.task }), ids), outcome];
  const cancel = request('tasks/cancel', { taskId: fresh.task }, [...ids, wrong('taskId', [done], refused)]);
  if (!drafts.includes('sep-2339')) return [get, list, cancel, outcome];
  const go = request('tasks/continue', { taskId: waiting }, [
    ...ids,
    ...typed(refused, 'inputResponses object'),
    wrong('inputResponses', wrongAnswers.ask_name!, refused),
    wrong('inputResponses', [{}, { nobody: accept({}) }]),
  ]);
  return [get, list, cancel, go, go];
}

function idFlaws({ unseen, waiting, dialect }: SessionFacts): Flaws {
  return [
    ...typed(refused, 'taskId string!'),
    wrong('taskId', oddName, refused),
    wrong('taskId', [...unseen, ...almost(waiting), 'i'.repeat(40_000)], refused),
    // What marks a request as one of SEP-1686 need not name the same task, and is not looked at.
    ...(dialect.namesTasks ? [wrong(`_meta>${relatedKey}`, anything)] : []),
  ];
}

const uriFlaws: Flaws = [
  ...typed(refused, 'uri string!'),
  wrong('uri', ['', 'report:', '//', 'test://nobody', 'report', 'other:///x'], refused),
  wrong('uri', fc.oneof(oddText, prototypeName), passable),
];

const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };

const others: readonly Row[] = [
  request('ping', {}),
  request('tools/list', {}, typed(refused, 'cursor string')),
  request('resources/list', {}),
  request('resources/templates/list', {}),
  request('prompts/list', {}),
  request('resources/read', { uri: 'test://static-text' }, uriFlaws),
  request('resources/read', { uri: 'report://x' }, uriFlaws),
  request('prompts/get', { name: 'test_simple_prompt' }, [
    ...typed(refused, 'name string', 'arguments object'),
    wrong('name', fc.oneof(oddText, prototypeName), refused),
  ]),
  request('prompts/get', { name: 'letter', arguments: { to: 'Ada' } }, [
    ...typed(refused, 'arguments>to string'),
    wrong('arguments', [{}], refused),
  ]),
  request('logging/setLevel', { level: 'info' }, [
    ...typed(refused, 'level string'),
    wrong('level', oddText, refused),
  ]),
  request('completion/complete', { ref, argument: { name: 'arg1', value: 'pa' } }, [
    ...typed(refused, 'ref object', 'ref>name string', 'argument object', 'argument>value string'),
    wrong('ref>type', anything, refused),
    wrong('ref>name', oddText, refused),
  ]),
];

function notices({ waiting }: SessionFacts): Row[] {
  const notice = (name: string, params: Loose, flaws: Flaws = []): Row => {
    const any = [wrong('anything', anything, { isNotice: true }), bad('params', not('object'), passedOver)];
    return [{ method: `notifications/${name}`, params }, [...flaws, ...any], { good: [], isNotice: true }];
  };
  const anywhere = (...names: readonly string[]) => names.map((name) => wrong(name, anything, passedOver));
  return [
    notice('initialized', {}),
    notice('cancelled', { requestId: 'nobody' }, [
      wrong('requestId', fc.oneof(anything, fc.constant(undefined)), passedOver),
      ...anywhere('reason'),
    ]),
    notice('progress', { progressToken: 0, progress: 1 }, anywhere('progressToken', 'progress')),
    notice('tasks/status', { taskId: waiting, status: 'cancelled' }, anywhere('taskId', 'status')),
    notice('roots/list_changed', {}),
    notice('nobody', {}),
  ];
}

const strange: Flaws = [
  bad('id', fc.oneof(oddText, fc.integer()), { isNotice: true }),
  bad('anything', anything, passedOver),
];
const question = fresh.question;
const almostQuestions = [' ', '0', '-', 'x'].map((more) => `${question}${more}`);

/** What a client says to a question: whatever it is, it has no answer. */
const answers: readonly Row[] = [
  [
    { id: question, result: accept({ name: 'Ada' }) },
    [bad('result', nameAnswer, passedOver), bad('id', almostQuestions, { isNotice: true }), ...strange],
    { label: 'an answer', good: [], isNotice: true },
  ],
  [
    { id: question, error: { code: -1, message: 'No.' } },
    [
      bad('error>code', not('number'), passedOver),
      bad('error>message', not('string'), passedOver),
      bad('error', anything, passedOver),
      ...strange,
    ],
    { label: 'a refusal', good: [], isNotice: true },
  ],
];
