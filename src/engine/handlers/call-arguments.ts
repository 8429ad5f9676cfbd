/** Checks the arguments of the methods of `task`. Errors contain the name of the call. */
import { type Duration, toMs } from '../../model/duration.ts';
import { HoldfastError, InvalidOptions } from '../../model/errors.ts';
import { isInstance, messageOf, shown } from '../../model/thrown.ts';
import { type Retry, type RetryPolicy, retryPolicy } from '../replay/step-retry.ts';
import type { Schema } from './schema.ts';
import type { DurableTool } from './tool.ts';

/** Limited because names are in every journal and every list of steps. */
export const maxCallNameLength = 1_024;
const maxToolNameLength = 256;
/** Limited because the status message is sent with every poll. */
export const maxStatusLength = 10_000;
/** A time further away than this is not a valid date. */
const maxWaitMs = 1_000 * 365 * 86_400_000;
const maxTime = 8_640_000_000_000_000;

/** The arguments of one call, such as `task.step()`. */
export class CallArguments {
  readonly #call: string;

  constructor(call: string) {
    this.#call = call;
  }

  /** Reads arguments. Options may be proxies, or have getters that throw. */
  read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (isInstance(error, HoldfastError)) throw error;
      throw new InvalidOptions(
        'INVALID_CALL',
        `${this.#call} got an argument that cannot be read: ${messageOf(error, 1_000)}`,
      );
    }
  }

  name(value: unknown, what = 'a name'): string {
    if (typeof value !== 'string') throw this.needs(`a string as ${what}`, value);
    if (value.length <= maxCallNameLength) return value;
    throw new InvalidOptions(
      'INVALID_CALL',
      `${this.#call} got ${what} of ${value.length} characters; the limit is ${maxCallNameLength}.`,
    );
  }

  text(value: unknown, what: string): string {
    if (typeof value === 'string') return value;
    throw this.needs(`a string as ${what}`, value);
  }

  number(value: unknown, what: string): number {
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    throw this.needs(`a finite number as ${what}`, value);
  }

  work<F>(value: F, what: string): F {
    if (typeof value === 'function') return value;
    throw this.needs(`a function as ${what}`, value);
  }

  /** Options are an object. If absent, they are empty. */
  options<T extends object>(value: T | undefined, what = 'options'): T {
    if (value === undefined) return {} as T;
    if (typeof value === 'object' && value !== null) return value;
    throw this.needs(`an object as ${what}`, value);
  }

  duration(value: Duration, what: string): number {
    const ms = toMs(value, `${this.#call} (${what})`);
    if (ms <= maxWaitMs) return ms;
    throw new InvalidOptions(
      'INVALID_CALL',
      `${this.#call} (${what}): ${shown(value)} is longer than a thousand years.`,
    );
  }

  retry(value: Retry): RetryPolicy {
    const { attempts, delay, maxDelay } = this.options(value, 'retry');
    if (delay !== undefined) this.duration(delay, 'retry.delay');
    if (maxDelay !== undefined) this.duration(maxDelay, 'retry.maxDelay');
    if (attempts !== undefined && !(Number.isInteger(attempts) && attempts >= 1))
      throw this.needs('an integer of at least 1 as retry.attempts', attempts);
    return retryPolicy({ attempts, delay, maxDelay } as Retry);
  }

  /** Milliseconds since 1970. */
  moment(value: Date | number): number {
    const ms = typeof value === 'number' ? value : this.#timeOf(value);
    // Stores keep whole milliseconds.
    if (Math.abs(ms) <= maxTime) return Math.ceil(ms);
    throw this.needs('a valid date, or milliseconds since 1970', value);
  }

  schema(value: Schema | undefined): Schema | undefined {
    if (value === undefined || typeof value?.['~standard']?.validate === 'function') return value;
    throw this.needs('a schema such as z.object({ … }) of zod', value);
  }

  durable(value: DurableTool): DurableTool {
    const { name, version, method, handler, deadlineMs, retentionMs } = this.options(value, 'what to start');
    const isDurable =
      [name, version, method].every((text) => typeof text === 'string') &&
      name.length > 0 &&
      name.length <= maxToolNameLength &&
      typeof handler === 'function' &&
      (deadlineMs === null || Number.isFinite(deadlineMs)) &&
      Number.isFinite(retentionMs);
    if (isDurable) return value;
    throw this.needs('what durableTool(), durableResource() or durablePrompt() returned', value);
  }

  /** Dates of another realm are dates too. */
  #timeOf(value: Date): number {
    try {
      return Date.prototype.getTime.call(value);
    } catch {
      return Number.NaN;
    }
  }

  needs(what: string, value: unknown): InvalidOptions {
    return new InvalidOptions('INVALID_CALL', `${this.#call} needs ${what}, not ${shown(value)}.`);
  }
}
