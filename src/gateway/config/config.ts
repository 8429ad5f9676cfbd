/**
 * What stands behind a gateway: servers under the key `mcpServers`, as every MCP host writes it, and programs under
 * `commands`, each with a policy for its tasks. A file that is wrong in any respect is refused as a whole, with the line.
 */
import type { Program } from '../../client/transports/stdio.ts';
import type { TaskSetting, ToolAnnotations } from '../../engine/handlers/tool.ts';
import type { Retry } from '../../engine/replay/step-retry.ts';
import type { Duration } from '../../model/duration.ts';
import type { JsonObject } from '../../model/json.ts';
import type { AttachOptions, HandOverOptions } from '../../server/hand-over/options.ts';
import { defaultLimits, type Limits } from '../../task-methods/limits.ts';
import { type Entry, type Fields, readConfigFile } from './config-file.ts';

export interface Config {
  readonly upstreams: Readonly<Record<string, UpstreamConfig>>;
  readonly commands: Readonly<Record<string, CommandConfig>>;
  /** What one caller may ask for, and all together. */
  readonly limits: Partial<Limits>;
  /** What clients that know no tasks get. */
  readonly plainClients: NonNullable<AttachOptions['plainClients']>;
}

/** How a server is reached. */
export type Target = { readonly url: string; readonly headers: Readonly<Record<string, string>> } | Program;

export interface UpstreamConfig {
  readonly target: Target;
  readonly policy: Policy;
  /** What differs for some of its tools, by their own names. */
  readonly tools: Readonly<Record<string, Policy>>;
}

const text = (entry: Entry) => entry.text();
const flag = (entry: Entry) => entry.flag();
const count = (entry: Entry) => entry.count();
const duration = (entry: Entry) => entry.duration();

/** What is said about tasks. What is not said holds as for any durable tool. */
const policyFields = {
  task: (entry: Entry): TaskSetting => entry.oneOf(['auto', 'always', 'required', 'never']),
  deadline: (entry: Entry): Duration | 'none' => (entry.value === 'none' ? 'none' : entry.duration()),
  retention: duration,
  concurrency: count,
  /** After a lost connection, and only of what does no harm if it is carried out twice. */
  retry: (entry: Entry): Retry =>
    typeof entry.value === 'number' ? { attempts: entry.count() } : only(entry, retryFields),
  /** Whether being carried out twice does no harm; otherwise the tool's own annotations say so. */
  idempotent: flag,
  /** Whether a repeated plain call joins the lost one. Default true. */
  joinable: flag,
};

export type Policy = Fields<typeof policyFields>;

const retryFields = { attempts: count, delay: duration, maxDelay: duration };

/** What a command need not say. */
const commandFields = {
  stdin: expanded,
  title: text,
  description: text,
  annotations: (entry: Entry) => entry.object() as ToolAnnotations,
  cwd: expanded,
  timeout: duration,
};

/** What holds of a command unless it says something else. */
const commandDefaults = {
  args: [],
  shell: false,
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  env: {},
  killAfter: '5s',
  largestOutput: 256 * 1024,
} as const;

const commandFieldsWithDefaults = {
  /** Each becomes one argument; `{name}` stands for an input, and nothing in it is ever read by a shell. */
  args: (entry: Entry): readonly string[] => entry.list().map(expanded),
  shell: flag,
  inputSchema: schemaIn,
  env: texts,
  /** How long it may take to end after SIGTERM. */
  killAfter: duration,
  /** Bytes of output that are kept. */
  largestOutput: count,
};

export type CommandConfig = Fields<typeof commandFields> &
  Required<Fields<typeof commandFieldsWithDefaults>> & {
    readonly command: string;
    readonly policy: Policy;
  };

const policyKeys = Object.keys(policyFields);
const serverKeys = ['command', 'args', 'env', 'cwd', 'url', 'headers', 'tools', ...policyKeys];
/** What hosts write beside it, for themselves. */
const keysOfHosts = [
  'type',
  'transport',
  'disabled',
  'enabled',
  'timeout',
  'description',
  'autoApprove',
  'alwaysAllow',
  'disabledTools',
  'envFile',
  'oauth',
  'auth',
];
const commandKeys = [
  'command',
  ...Object.keys({ ...commandFields, ...commandFieldsWithDefaults }),
  ...policyKeys,
];

/** Of what stands on a command line instead of in a file. */
export function configOf(target: Target, name: string): Config {
  return {
    upstreams: { [name]: { target, policy: {}, tools: {} } },
    commands: {},
    limits: ownLimits,
    plainClients: 'hand-over',
  };
}

export function readConfig(file: string): Config {
  return configIn(readConfigFile(file));
}

export function configIn(root: Entry): Config {
  root.object();
  const servers = root.key('mcpServers');
  const commands = root.key('commands');
  if (!servers && !commands) root.refuse('it has neither "mcpServers" nor "commands".');
  const isEnabled = (server: Entry) => server.key('disabled')?.value !== true;
  return {
    upstreams: servers?.map((server) => upstreamIn(named(server)), isEnabled) ?? {},
    commands: commands?.map((command) => commandIn(named(command))) ?? {},
    limits: limitsIn(root.key('limits')),
    plainClients: plainClientsIn(root.key('plainClients')),
  };
}

/** The servers of a file, whatever else is in it. */
export function serversIn(root: Entry): Entry {
  const servers = root.key('mcpServers');
  if (!servers) return root.refuse('it has no "mcpServers".');
  servers.object();
  return servers;
}

/** How one of them is reached; keys that are for others are passed over. */
export function targetIn(server: Entry): Target {
  server.object();
  const name = server.topic;
  const url = server.key('url');
  const command = server.key('command');
  if (url && command) server.refuse(`"${name}" has both a "command" and a "url": one server is one of them.`);
  if (url) {
    const address = expanded(url);
    if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
      url.refuse(`"${address}" is no URL of an MCP server: it begins with http:// or https://.`);
    return { url: address, headers: {}, ...server.fields({ headers: texts }) };
  }
  if (!command) return server.refuse(`"${name}" has neither a "command" nor a "url".`);
  return { command: expanded(command), args: [], env: {}, ...server.fields(programFields) };
}

const programFields = { args: commandFieldsWithDefaults.args, env: texts, cwd: expanded };

/** Most calls that pass through never become tasks, and all callers on this machine count as one. */
const ownLimits: Partial<Limits> = {
  callsPerMinute: 60_000,
  readsPerMinute: 600_000,
  resultsPerMinute: 60_000,
  liveTasksPerOwner: 10_000,
  storedTasksPerOwner: 100_000,
};

function limitsIn(entry: Entry | undefined): Partial<Limits> {
  return { ...ownLimits, ...(entry && only(entry, limitFields)) };
}

const limitFields = Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, count]));

function plainClientsIn(entry: Entry | undefined): Config['plainClients'] {
  if (!entry) return 'hand-over';
  if (typeof entry.value === 'string') return entry.oneOf(['hand-over', 'wait']);
  return only(entry, handOverFields) satisfies HandOverOptions;
}

const handOverFields = {
  window: duration,
  windowWithProgress: duration,
  keepDelivered: duration,
  earlierRevisions: flag,
  required: flag,
  prefix: text,
};

/** Reads these fields, and refuses others. */
function only<R extends Parameters<Entry['fields']>[0]>(entry: Entry, readers: R): Fields<R> {
  return entry.only(Object.keys(readers)).fields(readers);
}

function upstreamIn(server: Entry): UpstreamConfig {
  server.only([...serverKeys, ...keysOfHosts]);
  const tools = server.key('tools')?.map((tool) => policyIn(tool.only(policyKeys))) ?? {};
  return { target: targetIn(server), policy: policyIn(server), tools };
}

function policyIn(entry: Entry): Policy {
  const policy = entry.fields(policyFields);
  if (policy.retry && policy.idempotent === false)
    entry
      .key('retry')
      ?.refuse('what is not idempotent is not tried again: take "retry" or "idempotent": false away.');
  return policy;
}

// --- Commands ---------------------------------------------------------------------------------------------

function commandIn(entry: Entry): CommandConfig {
  entry.only(commandKeys);
  const name = entry.topic;
  const command = entry.key('command') ?? entry.refuse(`"${name}" has no "command".`);
  const [args, stdin, retry] = ['args', 'stdin', 'retry'].map((key) => entry.key(key));
  const policy = policyIn(entry);
  if (retry && !policy.idempotent)
    retry.refuse(`"retry" needs "idempotent": true: "${name}" may be run again.`);
  const fields = {
    ...commandDefaults,
    ...entry.fields(commandFields),
    ...entry.fields(commandFieldsWithDefaults),
  };
  for (const one of [...(args?.list() ?? []), ...(stdin ? [stdin] : [])])
    checkPlaceholders(one, fields.inputSchema);
  // What a shell reads has its own `${…}`.
  return { ...fields, command: fields.shell ? command.text() : expanded(command), policy };
}

function schemaIn(entry: Entry): JsonObject {
  const schema = entry.object();
  if (schema.type !== 'object') entry.refuse('"inputSchema" must have "type": "object".');
  entry.key('properties')?.object();
  return schema;
}

/** `{name}` in a text; `{{name}}` is written for the braces themselves. */
export const placeholder = /\{\{(\w+)\}\}|\{(\w+)\}/g;

function checkPlaceholders(entry: Entry, { properties }: JsonObject): void {
  const known = Object.keys((properties ?? {}) as JsonObject);
  for (const [, , name] of entry.text().replaceAll(variable, '').matchAll(placeholder))
    if (name !== undefined && !known.includes(name))
      entry.refuse(
        `{${name}} is no property of the inputSchema${known.length > 0 ? `, which has ${known.join(', ')}` : ''}; for the braces themselves write {{${name}}}.`,
      );
}

// --- Texts ------------------------------------------------------------------------------------------------

/** Refuses a server or a command whose name is none. */
function named(entry: Entry): Entry {
  if (/^[A-Za-z0-9_.-]{1,64}$/.test(entry.topic)) return entry;
  return entry.refuse(`"${entry.topic}" is no name: use 1 to 64 letters, digits, "_", "-" and "..".`);
}

function texts(entry: Entry): Readonly<Record<string, string>> {
  return entry.map(expanded);
}

const variable = /\$\{(\w+)(?::-([^}]*))?\}/g;

/** `${NAME}` and `${NAME:-otherwise}`, so that secrets need not be in the file. */
function expanded(entry: Entry): string {
  return entry.text().replace(variable, (_, name: string, otherwise: string | undefined) => {
    const value = process.env[name] ?? otherwise;
    if (value === undefined) entry.refuse(`"${entry.topic}" needs ${name}, which is not in the environment.`);
    return value;
  });
}
