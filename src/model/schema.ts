/** The part of Standard Schema and its JSON Schema extension that we use. zod 4 and other libraries implement it. */
export interface Schema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Checked<Output> | Promise<Checked<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
    };
  };
}

type Checked<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** The type that a caller passes. */
export type InputOf<S> = S extends Schema<infer Input, unknown> ? Input : never;
/** The type that a handler receives after validation. */
export type OutputOf<S> = S extends Schema<unknown, infer Output> ? Output : never;

/**
 * The parameters of a method that takes a tool's input, followed by `Rest`. The input is required if the schema
 * requires it, and empty if there is no schema.
 */
export type InputArguments<Input, Rest extends unknown[] = []> = Input extends Schema
  ? undefined extends InputOf<Input>
    ? [input?: InputOf<Input>, ...rest: Rest]
    : [input: InputOf<Input>, ...rest: Rest]
  : [input?: Readonly<Record<string, never>>, ...rest: Rest];
