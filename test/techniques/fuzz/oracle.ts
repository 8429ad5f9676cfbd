/**
 * Judges one answer to one bad message: an HTTP status that fits, a JSON-RPC error with a code that the message
 * deserves and words that say what was wrong, the id given back, and nothing about the inside of the server.
 */
import { extension, revision, subscriptionIdKey } from '../../../src/dialects/2026-07-28/names.ts';
import type { Loose } from './requests.ts';

export const errorCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  /** HTTP itself was used wrongly. */
  transportRefusal: -32000,
  /** There is no such session. */
  notAdmitted: -32001,
} as const;

export type Code = keyof typeof errorCodes;

export const { parseError, invalidRequest, invalidParams, missingCapability, unsupportedVersion } =
  errorCodes;
const { methodNotFound, transportRefusal, notAdmitted } = errorCodes;

export const acknowledged = 'notifications/subscriptions/acknowledged';

/**
 * What a message that is right in this respect gives: the `resultType`, a stream, an error result of a tool, or a
 * result of an older revision, which has no type.
 */
export type Good = 'complete' | 'task' | 'input_required' | 'isError' | 'stream' | 'untyped';

/** All answers that would be right. A message that is wrong in several ways may be refused for any of them. */
export interface Expected {
  readonly codes: ReadonlySet<number>;
  readonly good: ReadonlySet<Good>;
  /** Of a refusal, one of these has to be in its words. */
  readonly words: readonly RegExp[];
  /** It asks for no answer: 202, or on stdio nothing. */
  readonly isNotice: boolean;
  /** HTTP refuses it before anybody looks at the message, with one of these and perhaps without JSON. */
  readonly statuses: ReadonlySet<number>;
  /** The connection may be closed without a word: the request never arrived as a whole. */
  readonly mayBeCut: boolean;
  /** Sessions say in band what is wrong with a message that could be read. */
  readonly inSession?: boolean;
  /** Tasks that an acknowledged subscription may name. */
  readonly visible: readonly string[];
}

/** What came back. Over stdio there is no status. */
export type Answer =
  | { readonly kind: 'closed' }
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'answered';
      readonly status?: number;
      readonly type?: string;
      readonly text: string;
      readonly session?: string;
    };

/** The statuses that fit a code, unless it is 400. */
type Statuses = Readonly<Record<number, readonly number[]>>;

const statusesOf: Statuses = {
  [methodNotFound]: [404],
  // What is wrong with the envelope is 400; what is wrong with the params of a method is said in band.
  [invalidParams]: [200, 400],
  [transportRefusal]: [400, 403, 404, 405, 406, 409, 413, 415],
  [notAdmitted]: [404],
};

const inSessions: Statuses = { ...statusesOf, [invalidRequest]: [200, 400], [methodNotFound]: [200] };

/** Where the id may be missing: it could not be read, or nobody looked. */
const mayLackId = new Set([parseError, invalidRequest, transportRefusal, notAdmitted]);

const inside = [
  /\bat [\w.<>[\] ]{1,80}\(?(?:file:|node:|\/)/,
  /node_modules|file:\/\/|\bnode:internal\b/,
  /\w\.(?:ts|mjs|cjs|js):\d/,
  /\/(?:home|usr|tmp|var|root|work|src)\//,
  /SQLITE_|UNIQUE constraint|\[native code\]/,
];

export function judge(message: Loose, expected: Expected, answer: Answer): string[] {
  if (answer.kind === 'closed')
    return expected.mayBeCut ? [] : ['the connection was closed without an answer'];
  if (answer.kind === 'nothing') return expected.isNotice ? [] : ['there was no answer'];
  const { status, text } = answer;
  if (status !== undefined && status >= 500 && !expected.statuses.has(status)) return [`status ${status}`];
  if (status === 202) return expected.isNotice && text === '' ? [] : ['accepted as a notice'];
  const said = read(answer);
  if (said === undefined) {
    if (status !== undefined && expected.statuses.has(status)) return [];
    return [`not JSON-RPC: status ${status}, ${text.slice(0, 100)}`];
  }
  // Who does not show a token is answered in the words of OAuth.
  if (status === 401 && expected.statuses.has(status) && typeof said.error === 'string') return [];
  if (said.jsonrpc !== '2.0') return ['not marked as JSON-RPC 2.0'];
  if (said.error !== undefined && said.result === undefined)
    return judgeError(message, expected, status, said);
  if (said.error === undefined) return judgeGood(message, expected, status, said);
  return ['an error and a result at once'];
}

function judgeError(message: Loose, expected: Expected, status: number | undefined, said: Loose): string[] {
  const { code, message: words, data } = said.error;
  const problems: string[] = [];
  if (!Number.isInteger(code)) problems.push(`the code is ${code}`);
  const isHttp = code === transportRefusal && status !== undefined && expected.statuses.has(status);
  if (!expected.codes.has(code) && !isHttp)
    problems.push(
      `code ${code} (${String(words).slice(0, 120)}) instead of ${[...expected.codes].join(' or ')}`,
    );
  const fitting = (expected.inSession ? inSessions : statusesOf)[code] ?? [400];
  if (status !== undefined && !fitting.includes(status)) problems.push(`status ${status} with code ${code}`);
  problems.push(...wordsProblems(expected, isHttp, words));
  const idIsRight = Object.is(said.id, idOf(message)) || (mayLackId.has(code) && said.id === null);
  if (!idIsRight) problems.push(`the id is ${JSON.stringify(said.id)}`);
  const revealed = JSON.stringify(said.error);
  for (const sign of inside) if (sign.test(revealed)) problems.push(`it shows its inside: ${sign}`);
  if (code === missingCapability && !namesCapability(data)) problems.push('it does not say which capability');
  if (code === unsupportedVersion && !data?.supported?.includes?.(revision))
    problems.push('it does not say which versions are supported');
  return problems;
}

function wordsProblems({ words }: Expected, isHttp: boolean, said: unknown): string[] {
  if (typeof said !== 'string' || said.trim().length < 8) return ['it does not say what was wrong'];
  if (/^internal( server)? error\W*$/i.test(said)) return ['it only says "Internal error"'];
  if (isHttp || words.length === 0 || words.some((pattern) => pattern.test(said))) return [];
  return [`it says something else: ${said.slice(0, 160)}`];
}

function namesCapability(data: Loose): boolean {
  const required = data?.requiredCapabilities;
  const extensions = required?.extensions?.[extension];
  return extensions !== undefined
    ? JSON.stringify(extensions) === '{}'
    : ['elicitation', 'sampling', 'roots'].some((name) => typeof required?.[name] === 'object');
}

function judgeGood(message: Loose, expected: Expected, status: number | undefined, said: Loose): string[] {
  const good = goodOf(said);
  if (!good) return [`neither a result nor an error: ${JSON.stringify(said).slice(0, 120)}`];
  const problems: string[] = [];
  if (!expected.good.has(good)) problems.push(`it was taken for good (${good})`);
  if (status !== undefined && status !== 200) problems.push(`status ${status} with a result`);
  if (good === 'stream') return [...problems, ...acknowledgementProblems(message, expected, said)];
  if (!Object.is(said.id, idOf(message))) problems.push(`the id is ${JSON.stringify(said.id)}`);
  if (good === 'isError' && !String(said.result.content?.[0]?.text).trim())
    problems.push('the error result says nothing');
  return problems;
}

function acknowledgementProblems(message: Loose, { visible }: Expected, said: Loose): string[] {
  const { notifications, _meta } = said.params ?? {};
  const shown = (notifications?.taskIds ?? []).filter((id: string) => !visible.includes(id));
  const problems = shown.map((id: string) => `a subscription to ${id} was acknowledged`);
  if (_meta?.[subscriptionIdKey] !== idOf(message))
    problems.push('the acknowledgement names another subscription');
  return problems;
}

function goodOf({ method, result }: Loose): Good | undefined {
  if (method === acknowledged) return 'stream';
  if (result?.isError === true) return 'isError';
  const known = ['complete', 'task', 'input_required'];
  if (known.includes(result?.resultType)) return result.resultType;
  return typeof result === 'object' && result?.resultType === undefined ? 'untyped' : undefined;
}

/** The message in an answer: its JSON, or the event of its stream that answers, whatever came before it. */
export function read({ type = 'application/json', text }: { type?: string; text: string }): Loose {
  if (!type.startsWith('text/event-stream')) return parsed(text);
  const events = [...text.matchAll(/^data: (.*)\r?\n\r?\n/gm)];
  return events.map(([, json = '']) => parsed(json)).find((said) => said && answeredId(said) !== undefined);
}

/** The id that a message answers: where a request is answered with a stream, the first message of it does so. */
export function answeredId({ id, method, params }: Loose): unknown {
  if (method === undefined) return id ?? null;
  return method === acknowledged ? params?._meta?.[subscriptionIdKey] : undefined;
}

function parsed(json: string): Loose {
  try {
    const said = JSON.parse(json);
    return typeof said === 'object' && said !== null ? said : undefined;
  } catch {
    return undefined;
  }
}

/** The id of a message, if it has one that can be given back. */
export function idOf(message: Loose): unknown {
  const id = message?.id;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
