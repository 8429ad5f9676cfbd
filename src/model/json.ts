/** A value that JSON can represent. Only such values are stored. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type JsonObject = { readonly [key: string]: Json };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The type of a value after it was stored as JSON and read again, like the value of a step. */
export type Jsonify<T> = IsAny<T> extends true ? T : unknown extends T ? T : JsonForm<T>;

/** Marks a type that JSON cannot represent, such as a function, a `Map` or a `bigint`. Shown in compiler errors. */
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

/** Class instances lose their methods. Members that may be undefined become optional. */
type JsonMembers<T> = Flat<
  { [K in keyof T as MemberKey<T, K, 'required'>]: Jsonify<T[K]> } & {
    [K in keyof T as MemberKey<T, K, 'optional'>]?: Jsonify<Exclude<T[K], undefined>>;
  }
>;

/** The key, if its member is required or optional as `Kind` demands. Symbol keys and functions are not stored. */
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

/** JSON stores an undefined item of an array as null. */
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
