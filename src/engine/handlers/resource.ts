/** Durable resources: each `resources/read` of one becomes a task, as each call of a durable tool does. */
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
  /** A URI, `report://daily`, or a template of many: in `report://{day}/{+path}` only `path` reaches across a "/". */
  readonly uri: string;
  /** Of what the handler returns as a text or an object. */
  readonly mimeType?: string;
}

/** What a handler is to read. */
export interface ResourceRead {
  readonly uri: string;
  /** The decoded values of the template's variables. */
  readonly variables: Readonly<Record<string, string>>;
}

/** What to create a task with. The variables may be left out, since the URI says them. */
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

/** A text, the contents with or without the whole result around them, or an object that is shown as JSON. */
export type ResourceHandler = (
  read: ResourceRead,
  task: TaskContext,
) => Promise<string | readonly ResourceContents[] | ResourceResult | object>;

/** A resource whose reading becomes a durable task. */
export interface DurableResource
  extends DurableTool<Schema<ResourceInput, ResourceRead>, undefined, 'resources/read'> {
  /** The name that its author gave it, and that lists show. No tool has a "/" in its name, as `name` has here. */
  readonly listedAs: string;
  /** A URI, or a template of many. */
  readonly uri: string;
  readonly isTemplate: boolean;
  readonly mimeType: string | undefined;
  /** The values of the variables in a URI; undefined if it is not this resource that the URI means. */
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
    outcome: async (returned, { input, maxSize: largest }) =>
      success(resultOf(toJsonValue(returned, 'The handler', largest), (input as ResourceRead).uri, mimeType)),
    failure: protocolFailure,
  };
}

/** What a request for this URI asks of the resource; undefined if it asks nothing of it. */
export function matchUri({ variablesIn }: DurableResource, uri: string): ResourceRead | undefined {
  const variables = variablesIn(uri);
  return variables && { uri, variables };
}

export function isResource(durable: DurableTool): durable is DurableResource {
  return durable.method === 'resources/read';
}

/** Variables are read from the URI on every pass, so that they cannot contradict it. */
function readSchema(
  template: string,
  match: DurableResource['variablesIn'],
): Schema<ResourceInput, ResourceRead> {
  const validate = (value: unknown) => {
    const uri = isJsonObject(value) ? value.uri : undefined;
    const variables = typeof uri === 'string' ? match(uri) : undefined;
    if (variables) return { value: { uri: uri as string, variables } };
    const message = `${JSON.stringify(uri) ?? 'nothing'} is none of the URIs that ${template} stands for`;
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
      'The handler returned contents of which some have no "uri", or neither a "text" nor a "blob".',
    );
  }
  if (typeof value === 'object' && value !== null)
    return { contents: [{ uri, mimeType: mimeType ?? 'application/json', text: JSON.stringify(value) }] };
  throw new InvalidValue(
    'INVALID_RESULT',
    `The handler returned ${value === undefined ? 'nothing' : JSON.stringify(value)}, which is no resource. Return a text, contents, or an object to be shown as JSON.`,
  );
}

function isContents(value: Json | undefined): value is Json[] {
  return Array.isArray(value) && value.every(isOneContent);
}

function isOneContent(value: Json): boolean {
  if (!isJsonObject(value) || typeof value.uri !== 'string') return false;
  return typeof value.text === 'string' || typeof value.blob === 'string';
}
