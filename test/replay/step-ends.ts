/** How the steps of a program end: with values and errors that tell which step they came from. */
import { ProtocolError, TerminalError } from '../../src/engine/recorded-error.ts';
import { hash } from './chance.ts';
import type { Node } from './program.ts';

export type Step = Extract<Node, { kind: 'step' }>;

/** What the step gives, if it succeeds. */
export function givenBy({ gives }: Step, path: string): unknown {
  switch (gives) {
    case 'nothing':
      return undefined;
    case 'null':
      return null;
    case 'text':
      return path;
    case 'number':
      return hash(path);
    case 'list':
      return [path, hash(path), null];
    case 'object':
      return { path, more: { list: [true, path] } };
  }
}

/** Lets one attempt at a step end as the program says. */
export function endOf(step: Step, path: string, attempt: number): unknown {
  if (attempt > step.failures) return givenBy(step, path);
  switch (step.error) {
    case 'plain':
      throw new Error(path);
    case 'typed':
      throw new TypeError(path);
    case 'final':
      throw new TerminalError(path);
    case 'protocol':
      throw new ProtocolError(-32_000, path, { path });
    case 'text':
      throw path;
    case 'not JSON':
      return { path, big: 1n };
  }
}

/** Whether its last attempt fails. */
export function fails({ failures, attempts, error }: Step): boolean {
  return failures > 0 && (failures >= attempts || error === 'final' || error === 'not JSON');
}

/** Whether this is the very error that the handler must get. */
export function isFailureOf({ error }: Step, path: string, thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (error === 'not JSON') return thrown.name === 'NotJson' && thrown.message.includes('"big"');
  if (thrown.message !== path) return false;
  if (error === 'final') return thrown instanceof TerminalError;
  if (error === 'protocol')
    return thrown instanceof ProtocolError && thrown.code === -32_000 && text(thrown.data) === text({ path });
  return thrown.name === (error === 'typed' ? 'TypeError' : 'Error');
}

export function text(value: unknown): string {
  if (value instanceof Error) return `${value.name} ${value.message}`;
  return JSON.stringify(value) ?? 'nothing';
}
