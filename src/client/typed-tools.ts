/**
 * Calls that are typed by the tools of the server, which a client imports as types only. Without them (`unknown`) every
 * name, every argument and every result is possible.
 */
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { Jsonify, JsonObject } from '../model/json.ts';
import type { InputArguments, InputOf, Schema } from '../model/schema.ts';
import type { CallOptions } from './options.ts';

/** What counts of a durable tool here. */
interface Tool {
  readonly method: 'tools/call';
  readonly name: string;
  readonly inputSchema: Schema | undefined;
  readonly outputSchema: Schema | undefined;
}

/** Tools come as a list, as an object, or as all that a module exports. */
type ToolsIn<Tools> = Extract<Tools extends readonly (infer One)[] ? One : Tools[keyof Tools], Tool>;

type Named<Tools, Name> = Extract<ToolsIn<Tools>, { readonly name: Name }>;

export type ToolName<Tools> = unknown extends Tools ? string : ToolsIn<Tools>['name'];

/** The arguments of a call as an argument of `call`. */
export type CallArguments<Tools, Name> = unknown extends Tools
  ? [input?: JsonObject, options?: CallOptions]
  : InputArguments<Named<Tools, Name>['inputSchema'], [options?: CallOptions]>;

/** The arguments of a call as a member of what `callTool` takes. */
export type ArgumentsMember<Tools, Name> = unknown extends Tools
  ? { readonly arguments?: JsonObject }
  : InputArguments<Named<Tools, Name>['inputSchema']> extends [infer Input]
    ? { readonly arguments: Input }
    : { readonly arguments?: InputArguments<Named<Tools, Name>['inputSchema']>[0] };

/** The result of a call: what is no error has the structured output that the tool's schema describes. */
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
