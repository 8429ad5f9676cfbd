/**
 * The types of a client's calls, derived from the types of the server's tools (`Tools`). The client only imports types,
 * no code. If `Tools` is `unknown`, every name, argument and result is allowed.
 */
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Jsonify, JsonObject } from '../model/json.ts';
import type { InputArguments, InputOf, Schema } from '../model/schema.ts';
import type { CallOptions } from './options.ts';

/** The part of a durable tool that its types need. */
interface Tool {
  readonly method: 'tools/call';
  readonly name: string;
  readonly inputSchema: Schema | undefined;
  readonly outputSchema: Schema | undefined;
}

/** The tools in `Tools`, which is a list, an object, or the type of a module that exports tools. */
type ToolsIn<Tools> = Extract<Tools extends readonly (infer One)[] ? One : Tools[keyof Tools], Tool>;

/** The tool with this name. */
type Named<Tools, Name> = Extract<ToolsIn<Tools>, { readonly name: Name }>;

export type ToolName<Tools> = unknown extends Tools ? string : ToolsIn<Tools>['name'];

/** The parameters of `call` after the name. */
export type CallArguments<Tools, Name> = unknown extends Tools
  ? [input?: JsonObject, options?: CallOptions]
  : InputArguments<Named<Tools, Name>['inputSchema'], [options?: CallOptions]>;

/** The `arguments` member of the parameter of `callTool`. It is optional only if the input is. */
export type ArgumentsMember<Tools, Name> = unknown extends Tools
  ? { readonly arguments?: JsonObject }
  : InputArguments<Named<Tools, Name>['inputSchema']> extends [infer Input]
    ? { readonly arguments: Input }
    : { readonly arguments?: InputArguments<Named<Tools, Name>['inputSchema']>[0] };

/** The result of a call. Unless it is an error, its structured content matches the output schema of the tool. */
export type ResultOfCall<Tools, Name> = unknown extends Tools
  ? CallToolResult
  : Named<Tools, Name>['outputSchema'] extends infer Output extends Schema
    ? CallToolResult &
        (
          | { readonly isError?: false; readonly structuredContent: Jsonify<InputOf<Output>> }
          | { readonly isError: true; readonly structuredContent?: undefined }
        )
    : CallToolResult;

export type HandleResult<Tools, Name> = unknown extends Tools ? JsonObject : ResultOfCall<Tools, Name>;
