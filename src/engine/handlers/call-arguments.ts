/** Checks the arguments of methods such as `task.step()`. Errors contain the name of the method. */
import { type Duration, toMs } from '../../model/duration.ts';
import { HoldfastError, InvalidOptions } from '../../model/errors.ts';
import { isInstance, messageOf, shown } from '../../model/thrown.ts';
import { type Retry, type RetryPolicy, retryPolicy } from '../replay/step-retry.ts';
import type { Schema } from './schema.ts';
import type { DurableTool } from './tool.ts';

/**
 * Maximum length of the name of a call, such as a step, in characters. Every journal and list of steps contains names.
 */
export const maxCallNameLength = 1_024;
/** Maximum length of a tool's name with its prefix, such as `resource/`, in characters. */
const maxToolNameLength = 256;
/** Maximum length of a status message, in characters. It is sent with every poll. */
export const maxStatusLength = 10_000;
/** A thousand years: the maximum duration of a wait, so that its end is a valid date. */
const maxWaitMs = 1_000 * 365 * 86_400_000;
/** The latest time that a `Date` can have, in milliseconds since 1970. */
const maxTime = 8_640_000_000_000_000;

/** Checks the arguments of one call, such as `task.step()`. Each method returns the checked value or throws. */
export class CallArguments {
  readonly #call: string;

  constructor(call: string) {
    this.#call = call;
  }

  /** Runs `read`, and converts what it throws: options may be proxies, or have getters that throw. */
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

  /** The function to run, such as that of a step. */
  work<F>(value: F, what: string): F {
    if (typeof value === 'function') return value;
    throw this.needs(`a function as ${what}`, value);
  }

  /** Options must be an object. Returns an empty one if they are absent. */
  options<T extends object>(value: T | undefined, what = 'options'): T {
    if (value === undefined) return {} as T;
    if (typeof value === 'object' && value !== null) return value;
    throw this.needs(`an object as ${what}`, value);
  }

  /** In milliseconds. */
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

  /** In milliseconds since 1970, rounded up. */
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

  /** Checks for a durable tool, resource or prompt. */
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

  /** NaN if it is not a date. Unlike `instanceof`, this accepts dates of another realm, such as a `vm` context. */
  #timeOf(value: Date): number {
    try {
      return Date.prototype.getTime.call(value);
    } catch {
      return Number.NaN;
    }
  }

  /** Returns the error for a wrong argument. The caller throws it. */
  needs(what: string, value: unknown): InvalidOptions {
    return new InvalidOptions('INVALID_CALL', `${this.#call} needs ${what}, not ${shown(value)}.`);
  }
}
