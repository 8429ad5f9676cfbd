/**
 * Replaces timers, clocks and random numbers of the platform with those of the world, for dependencies that do not use
 * the runtime. Everything else that can start work later (files, sockets, threads) is forbidden in a simulation:
 * `escaped` finds it.
 */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import type { World } from './world.ts';

type Act = (...args: unknown[]) => void;

export function replaceGlobals(current: () => World): void {
  const process = () => current().current;
  const replaced = {
    setTimeout: (act: Act, ms = 1, ...args: unknown[]) => process().setTimer(() => act(...args), ms),
    setInterval: (act: Act, ms = 1, ...args: unknown[]) => process().setTimer(() => act(...args), ms, true),
    setImmediate: (act: Act, ...args: unknown[]) => {
      let isCleared = false;
      process().setImmediate(() => isCleared || act(...args));
      const immediate = { clear: () => (isCleared = true), ref: () => immediate, unref: () => immediate };
      return immediate;
    },
    clearTimeout: (timer?: { clear?(): void }) => timer?.clear?.(),
    clearInterval: (timer?: { clear?(): void }) => timer?.clear?.(),
    clearImmediate: (timer?: { clear?(): void }) => timer?.clear?.(),
  };
  Object.assign(globalThis, replaced);
  Object.assign(timers, replaced);
  const sooner = (ms = 1, value?: unknown, { signal }: { signal?: AbortSignal } = {}) =>
    new Promise((resolve, reject) => {
      const timer = replaced.setTimeout(() => resolve(value), ms);
      signal?.addEventListener('abort', () => {
        timer.clear();
        reject(signal.reason);
      });
    });
  Object.assign(timersPromises, {
    setTimeout: sooner,
    setImmediate: (value?: unknown) => new Promise((resolve) => replaced.setImmediate(() => resolve(value))),
  });
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...given: []) {
      super(...((given.length === 0 ? [process().now()] : given) as []));
    }
    static override now(): number {
      return process().now();
    }
  } as DateConstructor;
  performance.now = () => process().monotonic();
  Math.random = () => process().random.fraction();
  const fill = <T extends ArrayBufferView | null>(array: T): T => {
    if (!array) return array;
    const bytes = process().random.bytes(array.byteLength);
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(bytes);
    return array;
  };
  const uuid = () => {
    const hex = process().random.bytes(16).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  Object.assign(globalThis.crypto, { getRandomValues: fill, randomUUID: uuid });
  Object.assign(crypto, {
    randomUUID: uuid,
    randomBytes: (count: number) => process().random.bytes(count),
  });
  AbortSignal.timeout = (ms: number) => {
    const abort = new AbortController();
    replaced.setTimeout(() => abort.abort(new DOMException('The operation timed out.', 'TimeoutError')), ms);
    return abort.signal;
  };
  syncBuiltinESMExports();
}

/** Active resources that do not belong to the world: the kinds that keep a process alive. */
export function escaped(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((kind) => kind !== 'Immediate' && kind !== 'TTYWrap' && kind !== 'PipeWrap');
}
