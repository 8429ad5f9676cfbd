/** What JSON can carry: the only values that are ever stored. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type JsonObject = { readonly [key: string]: Json };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a value becomes when it is stored as JSON and read again, as the value of a step is. */
export type Jsonify<T> = IsAny<T> extends true ? T : unknown extends T ? T : JsonForm<T>;

/** Stands for a value that JSON cannot carry: a function, a `Map`, a `bigint` and the like. Compiler errors show it. */
export interface HasNoJsonForm<T> {
  readonly '~hasNoJsonForm': T;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a step may return nothing at all.
type JsonForm<T> = T extends Json | undefined | void
  ? T
  : T extends WithToJson
    ? Jsonify<ReturnType<T['toJSON']>>
    : T extends NotStorable
      ? HasNoJsonForm<T>
      : T extends readonly unknown[]
        ? { [I in keyof T]: JsonItem<T[I]> }
        : JsonMembers<T>;

/** Class instances lose their methods, and members that may be undefined may be missing. */
type JsonMembers<T> = Flat<
  { [K in keyof T as MemberKey<T, K, 'required'>]: Jsonify<T[K]> } & {
    [K in keyof T as MemberKey<T, K, 'optional'>]?: Jsonify<Exclude<T[K], undefined>>;
  }
>;

type MemberKey<T, K extends keyof T, Kind> = K extends symbol
  ? never
  : unknown extends T[K]
    ? Kind extends 'required'
      ? K
      : never
    : [T[K]] extends [AnyFunction | undefined]
      ? never
      : Kind extends (undefined extends T[K] ? 'optional' : 'required')
        ? K
        : never;

type JsonItem<T> = undefined extends T ? Jsonify<Exclude<T, undefined>> | null : Jsonify<T>;

type AnyFunction = (...values: never) => unknown;
type WithToJson = { toJSON(...values: never): unknown };
type NotStorable =
  | bigint
  | symbol
  | AnyFunction
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<WeakKey, unknown>
  | WeakSet<WeakKey>
  | Promise<unknown>
  | RegExp
  | ArrayBuffer
  | ArrayBufferView;
type IsAny<T> = 0 extends 1 & T ? true : false;
type Flat<T> = { [K in keyof T]: T[K] };
