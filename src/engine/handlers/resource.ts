/** Durable resources: each `resources/read` of a durable resource becomes a task, like a call of a durable tool. */
import { InvalidValue } from '../../model/errors.ts';
import { isJsonObject, type Json } from '../../model/json.ts';
import { toJsonValue } from '../replay/json-value.ts';
import type { TaskContext } from './context.ts';
import type { Schema } from './schema.ts';
import {
  checkedHandler,
  checkedName,
  checkOptions,
  type DurableOptions,
  type DurableTool,
  durable,
} from './tool.ts';
import { protocolFailure, success } from './tool-result.ts';
import { uriTemplate } from './uri-template.ts';

export interface ResourceOptions extends DurableOptions {
  /**
   * A URI such as `report://daily`, or a URI template such as `report://{day}/{+path}`. A value of `{+path}` may
   * contain "/", a value of `{day}` may not.
   */
  readonly uri: string;
  /**
   * The MIME type of a text or object that the handler returns; for an object the default is `application/json`.
   * Contents that the handler returns have their own.
   */
  readonly mimeType?: string;
}

/** The input of the handler: the URI to read. */
export interface ResourceRead {
  readonly uri: string;
  /** The decoded values of the template's variables. */
  readonly variables: Readonly<Record<string, string>>;
}

/** The input from which a task is created. The variables are ignored: they are always read from the URI. */
export interface ResourceInput {
  readonly uri: string;
  readonly variables?: Readonly<Record<string, string>>;
}

export type ResourceContents = {
  readonly uri: string;
  readonly mimeType?: string;
  readonly _meta?: Readonly<Record<string, unknown>>;
} & ({ readonly text: string } | { readonly blob: string });

export interface ResourceResult {
  readonly contents: readonly ResourceContents[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** Returns a text, contents, a complete result, or an object that is shown as JSON. */
export type ResourceHandler = (
  read: ResourceRead,
  task: TaskContext,
) => Promise<string | readonly ResourceContents[] | ResourceResult | object>;

/** A resource whose every `resources/read` becomes a durable task. */
export interface DurableResource
  extends DurableTool<Schema<ResourceInput, ResourceRead>, undefined, 'resources/read'> {
  /** The author's name for it, shown in lists. `name` is `resource/` and this: no tool name contains "/". */
  readonly listedAs: string;
  /** A URI or a URI template. */
  readonly uri: string;
  readonly isTemplate: boolean;
  readonly mimeType: string | undefined;
  /** The decoded values of the variables in a URI; undefined if the URI does not match this resource. */
  readonly variablesIn: (uri: string) => ResourceRead['variables'] | undefined;
}

export function durableResource(
  name: string,
  options: ResourceOptions,
  handler: ResourceHandler,
): DurableResource {
  checkOptions(options);
  const { uri, mimeType } = options;
  const { names, match } = uriTemplate(uri);
  return {
    ...durable(options),
    method: 'resources/read',
    name: `resource/${checkedName('resource', name)}`,
    listedAs: name,
    uri,
    isTemplate: names.length > 0,
    mimeType,
    variablesIn: match,
    inputSchema: readSchema(uri, match),
    handler: checkedHandler(name, handler),
    outcome: async (returned, { input, maxSize }) =>
      success(resultOf(toJsonValue(returned, 'The handler', maxSize), (input as ResourceRead).uri, mimeType)),
    failure: protocolFailure,
  };
}

/** The input for a read of this URI; undefined if the URI does not match this resource. */
export function matchUri({ variablesIn }: DurableResource, uri: string): ResourceRead | undefined {
  const variables = variablesIn(uri);
  return variables && { uri, variables };
}

export function isResource(durable: DurableTool): durable is DurableResource {
  return durable.method === 'resources/read';
}

/** The input schema. It reads the variables from the URI on every pass, so that they cannot contradict it. */
function readSchema(
  template: string,
  match: DurableResource['variablesIn'],
): Schema<ResourceInput, ResourceRead> {
  const validate = (value: unknown) => {
    const uri = isJsonObject(value) ? value.uri : undefined;
    const variables = typeof uri === 'string' ? match(uri) : undefined;
    if (variables) return { value: { uri: uri as string, variables } };
    const message = `${JSON.stringify(uri) ?? 'nothing'} does not match ${template}`;
    return { issues: [{ message, path: ['uri'] }] };
  };
  return { '~standard': { version: 1, vendor: 'holdfast', validate } };
}

function resultOf(value: Json | undefined, uri: string, mimeType: string | undefined): Json {
  const declared = mimeType !== undefined && { mimeType };
  if (typeof value === 'string') return { contents: [{ uri, ...declared, text: value }] };
  if (isContents(value)) return { contents: value };
  if (isJsonObject(value) && Array.isArray(value.contents)) {
    if (isContents(value.contents)) return value;
    throw new InvalidValue(
      'INVALID_RESULT',
      'The handler returned contents without a "uri", or with neither a "text" nor a "blob".',
    );
  }
  if (typeof value === 'object' && value !== null)
    return { contents: [{ uri, mimeType: mimeType ?? 'application/json', text: JSON.stringify(value) }] };
  throw new InvalidValue(
    'INVALID_RESULT',
    `The handler returned ${value === undefined ? 'nothing' : JSON.stringify(value)}, which is not a resource. Return a text, contents, or an object to be shown as JSON.`,
  );
}

function isContents(value: Json | undefined): value is Json[] {
  return Array.isArray(value) && value.every(isOneContent);
}

function isOneContent(value: Json): boolean {
  if (!isJsonObject(value) || typeof value.uri !== 'string') return false;
  return typeof value.text === 'string' || typeof value.blob === 'string';
}
