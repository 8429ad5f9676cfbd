/**
 * Errors as they are stored in a journal. A handler gets an equal error on its first pass and on every replay: an
 * object created from the record, of a class that the handler can check. It never gets the object that was thrown.
 */

import {
  type ErrorCode,
  errorCodes,
  HoldfastError,
  InvalidOptions,
  InvalidValue,
  Refusal,
} from '../../model/errors.ts';
import type { InputKind } from '../../model/input.ts';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import type { Outcome } from '../../model/outcome.ts';
import { attempted, isInstance, messageOf, nameOf } from '../../model/thrown.ts';
import { defaultMaxValueSize } from '../rules/limits.ts';
import { toJsonValue } from './json-value.ts';

/** A step that throws this fails at once, without the retries of its policy. */
export class TerminalError extends HoldfastError {
  constructor(message: string, options?: ErrorOptions) {
    super('TERMINAL_ERROR', message, options);
  }
}

export class StepTimedOut extends HoldfastError {
  constructor(message: string) {
    super('STEP_TIMED_OUT', message);
  }
}
export class AskTimedOut extends HoldfastError {
  constructor(message: string) {
    super('ASK_TIMED_OUT', message);
  }
}
export class WaitTimedOut extends HoldfastError {
  constructor(message: string) {
    super('WAIT_TIMED_OUT', message);
  }
}

export class InvalidInput extends HoldfastError {
  /** The paths at which the value does not match its schema, such as `items.0.name`; empty for the whole value. */
  readonly places: readonly string[];

  constructor(message: string, places: readonly string[] = []) {
    super('INVALID_INPUT', message);
    this.places = places;
  }
}

/**
 * The caller of the tool cannot answer this kind of question. This is not recorded: it never changes for a task, so
 * every pass gets the same error.
 */
export class CannotBeAsked extends HoldfastError {
  readonly kind: InputKind;

  constructor(key: string, kind: InputKind) {
    super(
      'CANNOT_BE_ASKED',
      `The question "${key}" cannot be asked: the client that called this tool did not declare that it can ${abilities[kind]}.`,
    );
    this.kind = kind;
  }
}

const abilities: Record<InputKind, string> = {
  form: 'show a form (capability elicitation.form)',
  url: 'open a URL (capability elicitation.url)',
  sampling: 'ask its model (capability sampling)',
  roots: 'list its roots (capability roots)',
};

export class SubtaskFailed extends HoldfastError {
  constructor(message: string) {
    super('SUBTASK_FAILED', message);
  }
}
export class SubtaskCancelled extends HoldfastError {
  constructor(message: string) {
    super('SUBTASK_CANCELLED', message);
  }
}
export class SubtaskLost extends HoldfastError {
  constructor(message: string) {
    super('SUBTASK_LOST', message);
  }
}

/** Thrown by a handler: the call is answered with a JSON-RPC error instead of an error result. */
export class ProtocolError extends HoldfastError {
  /** The JSON-RPC error code. */
  readonly rpcCode: number;
  readonly data: Json | undefined;

  constructor(code: number, message: string, data?: Json) {
    super('PROTOCOL_ERROR', message);
    this.rpcCode = code;
    this.data = data;
  }
}

/** The classes that are restored, by name. A map, because every object inherits names such as `constructor`. */
const classes: ReadonlyMap<unknown, new (message: string) => HoldfastError> = new Map(
  [
    TerminalError,
    StepTimedOut,
    AskTimedOut,
    WaitTimedOut,
    InvalidInput,
    SubtaskFailed,
    SubtaskCancelled,
    SubtaskLost,
  ].map((kind) => [kind.name, kind]),
);

/** The JSON-RPC code for internal errors. It replaces a code that is not an integer. */
const internalError = -32_603;

/** A JSON-RPC error. If its data cannot be stored, the data is omitted and the message contains the reason. */
export interface ProtocolFault {
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** Converts the error. Never throws, even if the properties of the error do. `maxSize` is in characters of JSON. */
export function protocolFault(error: ProtocolError, maxSize = defaultMaxValueSize): ProtocolFault {
  const given = attempted(() => error.rpcCode);
  const code = typeof given === 'number' && Number.isSafeInteger(given) ? given : internalError;
  const message = messageOf(error);
  try {
    const data = toJsonValue(error.data, 'The data of this error', maxSize);
    return { code, message, ...(data !== undefined && { data }) };
  } catch (problem) {
    return { code, message: `${message} (${messageOf(problem, 1_000)})` };
  }
}

/** The record of a thrown value, whatever it is. Never throws. `maxSize` is in characters of JSON. */
export function recordError(error: unknown, maxSize = defaultMaxValueSize): JsonObject {
  if (isInstance(error, ProtocolError)) return { name: 'ProtocolError', ...protocolFault(error, maxSize) };
  const name = nameOf(error);
  const code = classes.has(name) ? undefined : codeOf(error);
  return { name, ...(code !== undefined && { code }), message: messageOf(error) };
}

function codeOf(error: unknown): ErrorCode | undefined {
  const code = attempted(() => (error instanceof HoldfastError ? error.code : undefined));
  return typeof code === 'string' ? code : undefined;
}

/** The error for a record from `recordError`. */
export function errorFrom(record: Json | undefined): Error {
  const { name, message, code, data } = isJsonObject(record) ? record : {};
  const text = typeof message === 'string' ? message : messageOf(message);
  if (name === 'ProtocolError' && typeof code === 'number') return new ProtocolError(code, text, data);
  const Known = classes.get(name);
  if (Known) return new Known(text);
  if (isOneOf(errorCodes.Refusal, code)) return new Refusal(code, text);
  if (isOneOf(errorCodes.InvalidOptions, code)) return new InvalidOptions(code, text);
  if (isOneOf(errorCodes.InvalidValue, code)) return new InvalidValue(code, text);
  const error = isOneOf(Object.values(errorCodes).flat(), code)
    ? new HoldfastError(code, text)
    : new Error(text);
  return Object.defineProperty(error, 'name', {
    value: typeof name === 'string' ? name : 'Error',
    configurable: true,
  });
}

function isOneOf<Code extends string>(codes: readonly Code[], code: unknown): code is Code {
  return codes.includes(code as Code);
}

/** What a parent gets from `subtask.result()`: the result, or the record of one of three errors. `name` is the tool. */
export function fromChild(name: string, outcome: Outcome): { ok: boolean; value: Json } {
  if (outcome.kind === 'result') return { ok: true, value: outcome.value };
  return { ok: false, value: recordError(failureOfChild(name, outcome)) };
}

function failureOfChild(name: string, outcome: Exclude<Outcome, { kind: 'result' }>): HoldfastError {
  if (outcome.kind === 'failure') return new SubtaskFailed(`Subtask ${name} failed: ${outcome.message}`);
  if (outcome.kind === 'lost') return new SubtaskLost(`Subtask ${name} was lost: ${outcome.message}`);
  return new SubtaskCancelled(outcome.reason ?? `Subtask ${name} was cancelled.`);
}
