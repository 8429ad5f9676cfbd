/**
 * The messages of sessions, in revision 2025-11-25 and in the drafts around it: for each a right one, and the ways in
 * which it can be wrong.
 */
import fc from 'fast-check';
import { accept, nameAnswer } from './answers.ts';
import { type Base, bad, type Flaws, type Method, type Outcome, wrong } from './draft.ts';
import { polluting } from './flaws.ts';
import { anything, halfAPair, type JsonKind, not, oddText, prototypeName } from './junk.ts';
import { almost } from './methods.ts';
import { type Good, invalidParams, invalidRequest, methodNotFound } from './oracle.ts';
import type { Header, Loose } from './requests.ts';
import { inSession } from './session-flaws.ts';

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
  /** Where the second page of its tasks begins. */
  readonly cursor: string;
  readonly wrongCursors: readonly string[];
}

/** A right message, the ways in which its params can be wrong, and more of what it is. */
type Row = readonly [message: Loose, params: Flaws, more?: Partial<Base>];

const refused: Outcome = { codes: [invalidParams] };
const isError: Outcome = { good: ['isError'], codes: [invalidParams] };
/** Nobody need answer a notice, and nobody may be hurt by it. */
const passedOver: Outcome = { isNotice: true, codes: [invalidRequest] };
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
    const named =
      message.params?.name === undefined ? message.method : `${message.method} ${message.params.name}`;
    const label = `${dialect.name}: ${more?.label ?? named}`;
    const base = {
      message: { jsonrpc: '2.0', ...message },
      good: result,
      inSession: headers,
      ...more,
      label,
    };
    return inSession(base, params, overHttp);
  });
}

function request(method: string, params: Loose, flaws: Flaws = [], good = result): Row {
  const more = fc.oneof(wrong('anything', anything), polluting('params'), polluting('params>_meta'));
  const badMeta = wrong('_meta', not('object'), { codes: [invalidRequest, invalidParams] });
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
    ...strict('protocolVersion', 'string'),
    wrong('protocolVersion', oddText),
    ...strict('capabilities', 'object'),
    wrong('capabilities>experimental', not('object'), { ...refused, good: result }),
    wrong('capabilities>tasks', not('object'), { ...refused, good: result }),
    ...strict('clientInfo', 'object'),
    wrong('clientInfo>name', not('string'), refused),
    wrong('anything', anything),
  ];
  const before = headers.filter(([name]) => name !== 'Mcp-Session-Id');
  return [{ id: 'id', method: 'initialize', params }, flaws, { inSession: before }];
}

/** What has to be there, and of this kind. */
function strict(path: string, kind: JsonKind): Flaws {
  return [wrong(path, not(kind), refused), wrong(path, [undefined], refused)];
}

// --- Calls ------------------------------------------------------------------------------------------------

function calls(facts: SessionFacts): Row[] {
  const { drafts, namesTasks } = facts.dialect;
  const asTask = namesTasks ? { _meta: { [taskKey]: { taskId: fresh.name } } } : { task: { ttl: 1_000 } };
  // What is not durable cannot be a task, whether it is there or not.
  const noSuchTool: Outcome = { codes: [invalidParams, methodNotFound] };
  const call = (name: string, args: Loose, more: Loose, flaws: Flaws, good?: readonly Good[]) => {
    const common = [
      ...strict('name', 'string'),
      wrong('name', oddName, noSuchTool),
      wrong('arguments', not('object'), refused),
    ];
    // Twice, because they are the point of the call.
    return request('tools/call', { name, arguments: args, ...more }, [...common, ...flaws, ...flaws], good);
  };
  const options = namesTasks ? namingFlaws(facts) : ttlFlaws;
  const unasked = drafts.includes('sep-2229');
  const notTask: Outcome = { codes: [methodNotFound], ...(unasked && { good: either }) };
  return [
    call('greet', { name: 'Ada' }, {}, [wrong('arguments>name', not('string'), isError)]),
    call('nap', { ms: 1 }, asTask, [wrong('arguments>ms', not('number'), isError), ...options]),
    call('nap', { ms: 1 }, {}, [wrong('arguments>ms', not('number'), isError)]),
    call('throws', {}, asTask, options, either),
    call('count_sheep', { sheep: 3 }, asTask, [
      wrong('arguments>sheep', not('number'), isError),
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
      wrong('task', [{}, { ttl: 5 }], unasked ? undefined : { codes: [methodNotFound] }),
    ]),
  ];
}

/** Of 2025-11-25 and what was built on it. */
const ttlFlaws: Flaws = [
  wrong('task', not('object'), refused),
  wrong('task>ttl', not('number', 'null'), refused),
  wrong('task>ttl', [0, 0.5, 1e308, 2 ** 53]),
  wrong('task>ttl', [-1, -0.5, -1e308], { ...refused, good: result }),
  wrong('task>anything', anything),
];

function namingFlaws({ done }: SessionFacts): Flaws {
  const place = `_meta>${taskKey}`;
  return [
    wrong(place, not('object'), refused),
    wrong(place, [{}], refused),
    wrong(`${place}>taskId`, not('string'), refused),
    wrong(`${place}>taskId`, ['', 'i'.repeat(513)], refused),
    wrong(`${place}>taskId`, [done], refused),
    wrong(`${place}>keepAlive`, not('number', 'null'), refused),
    wrong(`${place}>keepAlive`, [-1, -1e308], refused),
    wrong(`${place}>keepAlive`, [0, 0.5, 1e308]),
    wrong('task', anything, refused),
  ];
}

// --- Tasks ------------------------------------------------------------------------------------------------

function aboutTasks(facts: SessionFacts): Row[] {
  const { dialect, waiting, done, cursor, wrongCursors } = facts;
  const { drafts, namesTasks } = dialect;
  const about = (id: Loose) => ({ ...id, ...(namesTasks && { _meta: { [relatedKey]: id } }) });
  const ids = idFlaws(facts);
  const get = request('tasks/get', about({ taskId: waiting }), ids);
  const list = request('tasks/list', about({}), [
    wrong('cursor', not('string'), refused),
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
    wrong('inputResponses', not('object'), refused),
    wrong(
      'inputResponses',
      nameAnswer.map((name) => ({ name })),
      refused,
    ),
    wrong('inputResponses', [{}, { nobody: accept({}) }]),
  ]);
  return [get, list, cancel, go, go];
}

function idFlaws({ unseen, waiting, dialect }: SessionFacts): Flaws {
  return [
    ...strict('taskId', 'string'),
    wrong('taskId', oddName, refused),
    wrong('taskId', [...unseen, ...almost(waiting)], refused),
    wrong('taskId', ['i'.repeat(40_000)], refused),
    // What marks a request as one of SEP-1686 need not name the same task, and is not looked at.
    ...(dialect.namesTasks ? [wrong(`_meta>${relatedKey}`, anything)] : []),
  ];
}

// --- The rest ---------------------------------------------------------------------------------------------

const uriFlaws: Flaws = [
  ...strict('uri', 'string'),
  wrong('uri', ['', 'report:', '//', 'test://nobody', 'report', 'other:///x'], refused),
  wrong('uri', fc.oneof(oddText, prototypeName), { ...refused, good: result }),
];

const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };

const others: readonly Row[] = [
  request('ping', {}),
  request('tools/list', {}, [wrong('cursor', not('string'), refused)]),
  request('resources/list', {}),
  request('resources/templates/list', {}),
  request('prompts/list', {}),
  request('resources/read', { uri: 'test://static-text' }, uriFlaws),
  request('resources/read', { uri: 'report://x' }, uriFlaws),
  request('prompts/get', { name: 'test_simple_prompt' }, [
    wrong('name', not('string'), refused),
    wrong('name', fc.oneof(oddText, prototypeName), refused),
    wrong('arguments', not('object'), refused),
  ]),
  request('prompts/get', { name: 'letter', arguments: { to: 'Ada' } }, [
    wrong('arguments>to', not('string'), refused),
    wrong('arguments', [{}], refused),
  ]),
  request('logging/setLevel', { level: 'info' }, [
    wrong('level', not('string'), refused),
    wrong('level', oddText, refused),
  ]),
  request('completion/complete', { ref, argument: { name: 'arg1', value: 'pa' } }, [
    wrong('ref', not('object'), refused),
    wrong('ref>type', anything, refused),
    wrong('ref>name', fc.oneof(not('string'), oddText), refused),
    wrong('argument', not('object'), refused),
    wrong('argument>value', not('string'), refused),
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
