/** Values that nobody expects, and what a task is to say that threw one. */
import { runInNewContext } from 'node:vm';
import { ProtocolError, TerminalError } from 'holdfast';
import { InvalidValue } from '../../../src/model/errors.ts';

function circular(): object {
  const data: Record<string, unknown> = { request: {} };
  (data.request as Record<string, unknown>).response = data;
  return data;
}

function throwing(what: string): never {
  throw new Error(what);
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** A leaf, so many times in another array. */
function nested(depth: number, wrap: (value: unknown) => unknown[]): unknown {
  let value: unknown = 'leaf';
  for (let n = 0; n < depth; n++) value = wrap(value);
  return value;
}

const upstreamError = (data: unknown) => new ProtocolError(-32000, 'upstream failed', data as never);

function errorWith(properties: Record<string, unknown>, error: object = new Error('x')): object {
  for (const [key, value] of Object.entries(properties))
    Object.defineProperty(error, key, { value, configurable: true, enumerable: true });
  return error;
}

function errorWithGetters(...keys: string[]): object {
  const error = new Error('x');
  for (const key of keys) Object.defineProperty(error, key, { get: () => throwing(`getter of ${key}`) });
  return error;
}

const everyTrap = new Proxy({}, { get: (_, trap) => () => throwing(`trap ${String(trap)}`) });

let reads = 0;

/** What is odd, how it comes about, and what the message of a task that threw it has in it. */
const table: Record<string, readonly [make: () => unknown, says: RegExp]> = {
  undefined: [() => undefined, /not an error: undefined/],
  null: [() => null, /not an error: null/],
  'not a number': [() => Number.NaN, /not an error: NaN/],
  infinity: [() => Infinity, /not an error: Infinity/],
  'minus infinity': [() => -Infinity, /not an error: -Infinity/],
  zero: [() => 0, /not an error: 0/],
  'minus one': [() => -1, /not an error: -1/],
  'a fraction': [() => 0.5, /not an error: 0.5/],
  'beyond all dates': [() => 2 ** 60, /not an error: 1152921504606847000/],
  'the largest safe number': [() => Number.MAX_SAFE_INTEGER, /not an error: 9007199254740991/],
  false: [() => false, /not an error: false/],
  'a bigint': [() => 10n, /not an error: 10n/],
  'a huge bigint': [() => 2n ** 100_000n, /a large bigint/],
  'a symbol': [() => Symbol('x'), /not an error: Symbol\(x\)/],
  'a symbol with a huge name': [() => Symbol('x'.repeat(1_000_000)), /Symbol\(x+.*cut/],
  'an empty text': [() => '', /not an error: ""/],
  'a text': [() => 'just a text', /^just a text$/],
  'a huge text': [() => 'x'.repeat(20_000_000), /^x+ … \(cut, 20000000 characters\)$/],
  'half a surrogate pair and a NUL': [() => '\ud800 half \u0000 nul', /half/],
  'a function': [() => () => 1, /not an error: a function/],
  'a class': [() => class Odd {}, /not an error: a function/],
  'an empty object': [() => ({}), /an empty object/],
  'an object without a prototype': [() => /(?<year>\d+)/.exec('2026')!.groups, /an object with "year"/],
  'an empty object without a prototype': [() => Object.create(null), /an empty object/],
  'an object with a message': [() => ({ message: 'plain', code: 7 }), /^plain$/],
  'an object with a toString that throws': [
    () => ({ toString: () => throwing('toString'), [Symbol.toPrimitive]: () => throwing('toPrimitive') }),
    /an object with "toString"/,
  ],
  'an object whose getters throw': [
    () => ({
      get message() {
        return throwing('getter');
      },
      toString: () => throwing('toString'),
    }),
    /cannot be read/,
  ],
  'a frozen object': [() => Object.freeze({ a: 1 }), /an object with "a"/],
  'a circular object': [circular, /an object with "request"/],
  'an array': [() => [1, 2], /an array of 2/],
  'an array of four thousand million gaps': [() => new Array(2 ** 32 - 1), /an array of 4294967295/],
  'an array that holds itself': [
    () => {
      const list: unknown[] = [];
      list.push(list);
      return list;
    },
    /an array of 1/,
  ],
  'arrays in arrays, very deep': [() => nested(20_000, (value) => [value]), /an array of 1/],
  // Two to the power of sixty leaves, in little memory.
  'arrays in arrays, each twice': [() => nested(60, (value) => [value, value]), /an array of 2/],
  'an invalid date': [() => new Date(Number.NaN), /Invalid Date/],
  'a date': [() => new Date(0), /1970/],
  'a map': [() => new Map([[1, 2]]), /an object \(Map\)/],
  'a weak map': [() => new WeakMap(), /an object \(WeakMap\)/],
  'a buffer': [() => new Uint8Array(3), /0,0,0/],
  'a promise': [() => new Promise(() => {}), /an object \(Promise\)/],
  // biome-ignore lint/suspicious/noThenProperty: that is what is odd about it.
  'a thenable whose then throws': [() => ({ then: () => throwing('then') }), /an object with "then"/],
  'a regular expression': [() => /x/, /x/],
  'a text object': [() => new String('boxed'), /boxed/],
  'an object whose toJSON throws': [() => ({ toJSON: () => throwing('toJSON') }), /an object with "toJSON"/],
  'an object whose toJSON gives nothing': [() => ({ toJSON: () => undefined }), /an object with "toJSON"/],
  'a proxy with every trap throwing': [() => new Proxy({}, everyTrap as object), /cannot be read/],
  'a revoked proxy': [revoked, /cannot be read/],
  'a proxy of an error': [() => new Proxy(new Error('behind'), {}), /^behind$/],
  'an object named __proto__': [() => JSON.parse('{"__proto__":{"message":"polluted"}}'), /"__proto__"/],
  'an error without a message': [() => new TypeError(), /without a message was thrown \(TypeError\)/],
  'an error with a huge message': [
    () => new Error('x'.repeat(40_000_000)),
    /^x{1000}.*cut, 40000000 characters\)$/,
  ],
  'an error with a bigint for everything': [
    () => errorWith({ message: 10n, name: 5n, code: 3n, data: 4n, cause: 2n, stack: 1n }),
    /10n/,
  ],
  'an error with a symbol for a message': [() => errorWith({ message: Symbol('m') }), /Symbol\(m\)/],
  'an error with an object for a message': [() => errorWith({ message: { toString: 1 } }), /"toString"/],
  'an error with no message property': [() => errorWith({ message: undefined }), /Error/],
  'an error whose message getter throws': [() => errorWithGetters('message'), /cannot be read/],
  'an error whose getters all throw': [
    () => errorWithGetters('message', 'name', 'stack', 'code', 'data', 'cause', 'constructor', 'toString'),
    /cannot be read/,
  ],
  'an error whose message can be read once': [
    () =>
      Object.defineProperty(new Error('x'), 'message', {
        get: () => (reads++ % 2 === 0 ? 'read once' : throwing('read twice')),
      }),
    /read once|cannot be read/,
  ],
  'an error named __proto__': [() => errorWith({ name: '__proto__' }), /^x$/],
  'an error named constructor': [() => errorWith({ name: 'constructor' }), /^x$/],
  'an error named toString': [() => errorWith({ name: 'toString' }), /^x$/],
  'an error named ProtocolError': [() => errorWith({ name: 'ProtocolError' }), /^x$/],
  'an error with a huge name': [() => errorWith({ name: 'n'.repeat(10_000_000) }), /^x$/],
  'a frozen error': [() => Object.freeze(new Error('frozen')), /^frozen$/],
  'an error that is its own cause': [
    () => {
      const error = new Error('circle');
      error.cause = error;
      return error;
    },
    /^circle$/,
  ],
  'an error of another realm': [() => runInNewContext('new TypeError("elsewhere")'), /^elsewhere$/],
  'an object of another realm': [() => runInNewContext('({ a: 1 })'), /an object with "a"/],
  'an aggregate error': [() => new AggregateError([new Error('a'), null, 3n], ''), /^a; .*null.*; .*3n/],
  'aggregate errors that hold each other': [
    () => {
      const one = new AggregateError([], '');
      one.errors = Array.from({ length: 10 }, () => new AggregateError([one, one, one], ''));
      return one;
    },
    /without a message/,
  ],
  'a DOMException': [() => new DOMException('gone', 'AbortError'), /^gone$/],
  'an abort reason': [() => AbortSignal.abort().reason, /aborted/],
  'half a pair and a NUL in an error': [() => new Error('\ud800 half \u0000 nul'), /half/],
  'a protocol error with circular data': [() => upstreamError(circular()), /upstream failed.*data.*circular/],
  'a protocol error with a bigint in its data': [
    () => upstreamError({ big: 1n }),
    /upstream failed.*data.*bigint/,
  ],
  'a protocol error with huge data': [
    () => upstreamError('x'.repeat(20_000_000)),
    /upstream failed.*data.*20000002 characters/,
  ],
  'a protocol error with a proxy as data': [
    () => upstreamError(new Proxy({}, everyTrap as object)),
    /upstream failed.*data/,
  ],
  'a protocol error without a number': [() => new ProtocolError(Number.NaN, 'no number'), /^no number$/],
  'a protocol error with a bigint for a code': [
    () => new ProtocolError(5n as never, 'no number'),
    /^no number$/,
  ],
  'a terminal error with an odd message': [() => errorWith({ message: 7n }, new TerminalError('x')), /7n/],
  'an error made of a prototype alone': [() => Object.create(ProtocolError.prototype), /ProtocolError/],
  'an error of our own': [() => new InvalidValue('NOT_JSON', 'not JSON'), /^not JSON$/],
};

export const oddValues = new Map(Object.entries(table));
