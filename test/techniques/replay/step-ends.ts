/** How the steps of a program end: with values and errors that tell which step they came from. */
import { isDeepStrictEqual } from 'node:util';
import { ProtocolError, TerminalError } from '../../../src/engine/recorded-error.ts';
import { HoldfastError } from '../../../src/model/errors.ts';
import { hash } from '../../kit/random.ts';
import type { Node } from './program.ts';

export type Step = Extract<Node, { kind: 'step' }>;

const values: Readonly<Record<Step['gives'], (path: string) => unknown>> = {
  nothing: () => undefined,
  null: () => null,
  text: (path) => path,
  number: (path) => hash(path),
  list: (path) => [path, hash(path), null],
  object: (path) => ({ path, more: { list: [true, path] } }),
};

/** What a failing attempt throws, or returns although it is not JSON. */
const errors: Readonly<Record<Step['error'], (path: string) => unknown>> = {
  plain: (path) => new Error(path),
  typed: (path) => new TypeError(path),
  final: (path) => new TerminalError(path),
  protocol: (path) => new ProtocolError(-32_000, path, { path }),
  text: (path) => path,
  'not JSON': (path) => ({ path, big: 1n }),
};

/** What the step gives, if it succeeds. */
export function givenBy({ gives }: Step, path: string): unknown {
  return values[gives](path);
}

/** Lets one attempt at a step end as the program says. */
export function endOf(step: Step, path: string, attempt: number): unknown {
  if (attempt > step.failures) return givenBy(step, path);
  const error = errors[step.error](path);
  if (step.error === 'not JSON') return error;
  throw error;
}

/** Whether its last attempt fails. */
export function fails({ failures, attempts, error }: Step): boolean {
  return failures > 0 && (failures >= attempts || error === 'final' || error === 'not JSON');
}

/** Whether this is the very error that the handler must get: of a class that it can tell apart, if we made that. */
export function isFailureOf({ error }: Step, path: string, thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (error === 'not JSON') return thrown.name === 'NotJson' && thrown.message.includes('"big"');
  const made = error === 'text' ? new Error(path) : (errors[error](path) as Error);
  const isOurs = made instanceof HoldfastError;
  return text(thrown) === text(made) && (!isOurs || isDeepStrictEqual(thrown, made));
}

export function text(value: unknown): string {
  if (value instanceof Error) return `${value.name} ${value.message}`;
  return JSON.stringify(value) ?? 'nothing';
}
