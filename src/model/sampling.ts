/** Requests to the client's model and their results: the protocol's types, without the SDK. */
import type { JsonObject } from './json.ts';

type Annotations = {
  readonly audience?: readonly ('user' | 'assistant')[];
  readonly priority?: number;
  readonly lastModified?: string;
};

type Described = { readonly annotations?: Annotations; readonly _meta?: JsonObject };

type Text = Described & { readonly type: 'text'; readonly text: string };
type Media = Described & {
  readonly type: 'image' | 'audio';
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
};
type ToolUse = {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  readonly _meta?: JsonObject;
};
type ToolOutput = {
  readonly type: 'tool_result';
  readonly toolUseId: string;
  /** Content blocks, as in the result of a tool call. */
  readonly content: readonly (JsonObject & { readonly type: string })[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
};

export type SamplingContent = Text | Media | ToolUse | ToolOutput;

export type SamplingMessage = {
  readonly role: 'user' | 'assistant';
  readonly content: SamplingContent | readonly SamplingContent[];
  readonly _meta?: JsonObject;
};

/** The params of `sampling/createMessage`. */
export type SamplingRequest = {
  readonly messages: readonly SamplingMessage[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly includeContext?: 'none' | 'thisServer' | 'allServers';
  readonly modelPreferences?: {
    readonly hints?: readonly { readonly name?: string }[];
    readonly costPriority?: number;
    readonly speedPriority?: number;
    readonly intelligencePriority?: number;
  };
  readonly tools?: readonly (JsonObject & { readonly name: string; readonly inputSchema: JsonObject })[];
  readonly toolChoice?: { readonly mode?: 'auto' | 'required' | 'none' };
  readonly metadata?: JsonObject;
  readonly _meta?: JsonObject;
};

/** The result of `sampling/createMessage`. */
export type SamplingAnswer = SamplingMessage & {
  readonly model: string;
  /** `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a word of the provider. */
  readonly stopReason?: string;
};
