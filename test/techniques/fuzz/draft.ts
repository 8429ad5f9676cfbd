/** A message on its way to be sent, the flaws that are put into it, and what an answer to all of them may be. */
import fc, { type Arbitrary } from 'fast-check';
import { type JsonKind, not } from './junk.ts';
import { type Code, type Expected, errorCodes, type Good } from './oracle.ts';
import { type Header, headersFor, type Loose, textOf } from './requests.ts';

export interface Draft {
  message: Loose;
  httpMethod: string;
  path: string;
  headers: Header[];
  /** The first line of the request, if that is wrong. */
  start?: string;
  /** The bytes of the body, once they are more than the text of the message. */
  body: Buffer | undefined;
}

/** What a flaw makes of the answer. A flaw without an outcome is none: nothing may come of it. */
export interface Outcome {
  readonly codes?: readonly Code[];
  readonly good?: readonly Good[];
  readonly words?: RegExp;
  readonly isNotice?: boolean;
  readonly statuses?: readonly number[];
  readonly mayBeCut?: boolean;
  /** The sender can no longer be given a task, */
  readonly takesTasks?: false;
  /** and this is wrong only if it can. */
  readonly ofTasks?: true;
}

/** Flaws are put in from the inside to the outside: the message, then its headers, then its bytes. */
type Layer = 'message' | 'http' | 'bytes';

export interface Flaw {
  readonly label: string;
  readonly layer: Layer;
  readonly outcome: Outcome | undefined;
  readonly spoil: (draft: Draft) => void;
  /** The requirements that a right answer to it, and to nothing else, keeps. */
  readonly rows?: readonly string[];
}

export type Flaws = readonly Arbitrary<Flaw>[];

export interface Base {
  readonly label: string;
  readonly message: Loose;
  readonly good: readonly Good[];
  /** It asks for no answer. */
  readonly isNotice?: boolean;
  /** Of a message in a session, the headers. */
  readonly inSession?: readonly Header[];
  /** Tasks that a subscription may name. */
  readonly visible?: readonly string[];
}

/** A message has at most one flaw of each kind; two would hide each other. */
export type Kind = 'params' | 'frame' | 'envelope' | 'mirror' | 'http' | 'bytes' | 'harmless';

export interface Method {
  readonly base: Base;
  readonly flaws: Readonly<Partial<Record<Kind, Flaws>>>;
}

/** Bytes for a socket of their own. */
export interface Raw {
  readonly bytes: Buffer;
  /** The client hangs up once it has sent them, without waiting for an answer. */
  readonly hangsUp: boolean;
}

export interface BadMessage {
  readonly label: string;
  readonly draft: Draft;
  readonly expected: Expected;
  readonly rows: readonly string[];
  readonly raw?: Raw;
}

export function draftOf(message: Loose, headers = headersFor(message)): Draft {
  return { message, httpMethod: 'POST', path: '/mcp', headers, body: undefined };
}

export function spoil(base: Base, flaws: readonly Flaw[]): BadMessage {
  const draft = draftOf(structuredClone(base.message), []);
  const spoilAt = (layer: Layer) => {
    for (const flaw of flaws) if (flaw.layer === layer) flaw.spoil(draft);
  };
  spoilAt('message');
  draft.headers = [...(base.inSession ?? headersFor(draft.message))];
  spoilAt('http');
  spoilAt('bytes');
  const label = [base.label, ...flaws.map((flaw) => flaw.label)].join('; ');
  const rows = flaws.length === 1 ? (flaws[0]?.rows ?? []) : [];
  return { label, draft, expected: expectedOf(base, flaws), rows };
}

export function bodyOf({ body, message }: Draft): Buffer {
  return body ?? Buffer.from(textOf(message));
}

function expectedOf(base: Base, flaws: readonly Flaw[]): Expected {
  const outcomes = flaws.flatMap(({ outcome }) => outcome ?? []);
  const takesTasks = outcomes.every((one) => one.takesTasks ?? true);
  const goods = outcomes.filter(({ ofTasks }) => takesTasks || !ofTasks).map(({ good = [] }) => good);
  const good = outcomes.length === 0 ? base.good : goods.some((one) => one.length === 0) ? [] : goods.flat();
  const words = outcomes.map((one) => one.words);
  return {
    codes: new Set(outcomes.flatMap(({ codes = [] }) => codes.map((name) => errorCodes[name]))),
    good: new Set(good),
    words: words.includes(undefined) ? [] : (words as RegExp[]),
    isNotice: outcomes.length === 0 ? base.isNotice === true : outcomes.some((one) => one.isNotice),
    inSession: base.inSession !== undefined,
    statuses: new Set(outcomes.flatMap(({ statuses = [] }) => statuses)),
    mayBeCut: outcomes.some((one) => one.mayBeCut),
    visible: base.visible ?? [],
  };
}

/** Puts a value somewhere inside a JSON value, under whatever name; `undefined` takes it away. */
export function put(target: Loose, path: readonly string[], value: unknown): void {
  const [name, ...rest] = path;
  if (typeof target !== 'object' || target === null || name === undefined) return;
  if (rest.length > 0) {
    if (!Object.hasOwn(target, name)) put(target, [name], {});
    return put(target[name], rest, value);
  }
  if (value === undefined) delete target[name];
  else Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}

/** A flaw at one place of the message; `undefined` leaves something out. */
export function at(path: string, value: Loose, outcome?: Outcome, rows: readonly string[] = []): Flaw {
  const shown = value === undefined ? 'missing' : JSON.stringify(value).slice(0, 80);
  const spoil = ({ message }: Draft) => put(message, path.split('>'), value);
  return { label: `${path} ${shown}`, layer: 'message', outcome, spoil, rows };
}

/** Values: any that fast-check makes, or one of these. */
export type Values<T> = Arbitrary<T> | readonly T[];

export function oneOf<T>(values: Values<T>): Arbitrary<T> {
  return values instanceof fc.Arbitrary ? values : fc.constantFrom(...values);
}

type Bad = [path: string, values: Values<Loose>, outcome?: Outcome, ...rows: string[]];

/** Wrong values, or some that only look wrong, at one place of the message. */
export function bad(...[path, values, outcome, ...rows]: Bad): Arbitrary<Flaw> {
  return oneOf(values).map((value) => at(path, value, outcome, rows));
}

/** … of its params. */
export function wrong(...[path, ...rest]: Bad): Arbitrary<Flaw> {
  return bad(`params>${path}`, ...rest);
}

/** Params that are not what they have to be, such as `name string`; what ends in `!` may not be missing either. */
export function typed(outcome: Outcome, ...params: readonly string[]): Flaws {
  return params.flatMap((one) => {
    const [, path = '', kind, isNeeded] = /^(.+) (\w+)(!?)$/.exec(one)!;
    const wrongKind = wrong(path, not(kind as JsonKind), outcome);
    return isNeeded ? [wrongKind, wrong(path, [undefined], outcome)] : [wrongKind];
  });
}
