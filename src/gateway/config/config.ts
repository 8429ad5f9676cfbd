/**
 * The config of a gateway: servers under the key `mcpServers`, as in the configs of MCP hosts, and programs under
 * `commands`, each with a policy for its tasks. Any mistake rejects the whole file, with the line.
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
  /** Limits for each caller and for all callers together. */
  readonly limits: Partial<Limits>;
  /** How clients without tasks are served. */
  readonly plainClients: NonNullable<AttachOptions['plainClients']>;
}

/** How to connect to a server. */
export type Target = { readonly url: string; readonly headers: Readonly<Record<string, string>> } | Program;

export interface UpstreamConfig {
  readonly target: Target;
  readonly policy: Policy;
  /** Policies of single tools, by their names at the upstream. They override `policy`. */
  readonly tools: Readonly<Record<string, Policy>>;
}

const text = (entry: Entry) => entry.text();
const flag = (entry: Entry) => entry.flag();
const count = (entry: Entry) => entry.count();
const duration = (entry: Entry) => entry.duration();

/** Settings of a server, a tool or a command for its tasks. The defaults are those of every durable tool. */
const policyFields = {
  task: (entry: Entry): TaskSetting => entry.oneOf(['auto', 'always', 'required', 'never']),
  deadline: (entry: Entry): Duration | 'none' => (entry.value === 'none' ? 'none' : entry.duration()),
  retention: duration,
  /** How many calls may run at the same time. */
  concurrency: count,
  /**
   * Retries after a lost connection, or after the failure of a command. A number is the total number of attempts. Only
   * calls that are safe to repeat are retried.
   */
  retry: (entry: Entry): Retry =>
    typeof entry.value === 'number' ? { attempts: entry.count() } : only(entry, retryFields),
  /** Whether calls are safe to repeat. By default the tool's annotations decide. */
  idempotent: flag,
  /** Whether a repeated plain call joins the task of an equal call whose connection was lost. Default `true`. */
  joinable: flag,
};

export type Policy = Fields<typeof policyFields>;

const retryFields = { attempts: count, delay: duration, maxDelay: duration };

/** Optional fields of a command. */
const commandFields = {
  stdin: expanded,
  title: text,
  description: text,
  annotations: (entry: Entry) => entry.object() as ToolAnnotations,
  cwd: expanded,
  timeout: duration,
};

/** Fields of a command that have a default. */
const commandDefaults = {
  args: [],
  shell: false,
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  env: {},
  killAfter: '5s',
  maxOutputSize: 256 * 1024,
} as const;

const commandFieldsWithDefaults = {
  /** Each becomes one argument. `{name}` is replaced with that input. No shell interprets it. */
  args: (entry: Entry): readonly string[] => entry.list().map(expanded),
  /** Whether `command` is a script for `/bin/sh`, and not the path of a program. */
  shell: flag,
  inputSchema: schemaIn,
  env: texts,
  /** Time between SIGTERM and SIGKILL. */
  killAfter: duration,
  /** Bytes of output to keep: the beginning and the end. */
  maxOutputSize: count,
};

export type CommandConfig = Fields<typeof commandFields> &
  Required<Fields<typeof commandFieldsWithDefaults>> & {
    readonly command: string;
    readonly policy: Policy;
  };

const policyKeys = Object.keys(policyFields);
const serverKeys = ['command', 'args', 'env', 'cwd', 'url', 'headers', 'tools', ...policyKeys];
/** Keys that MCP hosts use for themselves. They are ignored, except that a server with `disabled: true` is left out. */
const hostKeys = [
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

/** The config of a gateway for a single server that is given on the command line. */
export function configOf(target: Target, name: string): Config {
  return {
    upstreams: { [name]: { target, policy: {}, tools: {} } },
    commands: {},
    limits: gatewayLimits,
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
  if (!servers && !commands) root.refuse('the file has neither "mcpServers" nor "commands".');
  const isEnabled = (server: Entry) => server.key('disabled')?.value !== true;
  return {
    upstreams: servers?.map((server) => upstreamIn(named(server)), isEnabled) ?? {},
    commands: commands?.map((command) => commandIn(named(command))) ?? {},
    limits: limitsIn(root.key('limits')),
    plainClients: plainClientsIn(root.key('plainClients')),
  };
}

/** The servers of a file. Other keys are ignored. */
export function serversIn(root: Entry): Entry {
  const servers = root.key('mcpServers');
  if (!servers) return root.refuse('the file has no "mcpServers".');
  servers.object();
  return servers;
}

/** How to connect to this server. Keys that do not concern the connection are ignored. */
export function targetIn(server: Entry): Target {
  server.object();
  const name = server.topic;
  const url = server.key('url');
  const command = server.key('command');
  if (url && command) server.refuse(`"${name}" has both a "command" and a "url": remove one of them.`);
  if (url) {
    const address = expanded(url);
    if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
      url.refuse(`"${address}" is not a URL of an MCP server: it must begin with http:// or https://.`);
    return { url: address, headers: {}, ...server.fields({ headers: texts }) };
  }
  if (!command) return server.refuse(`"${name}" needs a "command" or a "url".`);
  return { command: expanded(command), args: [], env: {}, ...server.fields(programFields) };
}

const programFields = { args: commandFieldsWithDefaults.args, env: texts, cwd: expanded };

/** Higher than the defaults: most calls never become tasks, and all callers on this machine count as one. */
const gatewayLimits: Partial<Limits> = {
  callsPerMinute: 60_000,
  readsPerMinute: 600_000,
  resultsPerMinute: 60_000,
  liveTasksPerOwner: 10_000,
  storedTasksPerOwner: 100_000,
};

function limitsIn(entry: Entry | undefined): Partial<Limits> {
  return { ...gatewayLimits, ...(entry && only(entry, limitFields)) };
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

/** Reads these fields, and throws on others. */
function only<R extends Parameters<Entry['fields']>[0]>(entry: Entry, readers: R): Fields<R> {
  return entry.only(Object.keys(readers)).fields(readers);
}

function upstreamIn(server: Entry): UpstreamConfig {
  server.only([...serverKeys, ...hostKeys]);
  const tools = server.key('tools')?.map((tool) => policyIn(tool.only(policyKeys))) ?? {};
  return { target: targetIn(server), policy: policyIn(server), tools };
}

function policyIn(entry: Entry): Policy {
  const policy = entry.fields(policyFields);
  if (policy.retry && policy.idempotent === false)
    entry
      .key('retry')
      ?.refuse('calls that are not idempotent are not retried: remove "retry" or "idempotent": false.');
  return policy;
}

// --- Commands ---------------------------------------------------------------------------------------------

function commandIn(entry: Entry): CommandConfig {
  entry.only(commandKeys);
  const name = entry.topic;
  const command = entry.key('command') ?? entry.refuse(`"${name}" needs a "command".`);
  const [args, stdin, retry] = ['args', 'stdin', 'retry'].map((key) => entry.key(key));
  const policy = policyIn(entry);
  if (retry && !policy.idempotent)
    retry.refuse(`"retry" needs "idempotent": true, because it may run "${name}" more than once.`);
  const fields = {
    ...commandDefaults,
    ...entry.fields(commandFields),
    ...entry.fields(commandFieldsWithDefaults),
  };
  for (const one of [...(args?.list() ?? []), ...(stdin ? [stdin] : [])])
    checkPlaceholders(one, fields.inputSchema);
  // `${…}` in a shell script belongs to the shell.
  return { ...fields, command: fields.shell ? command.text() : expanded(command), policy };
}

function schemaIn(entry: Entry): JsonObject {
  const schema = entry.object();
  if (schema.type !== 'object') entry.refuse('"inputSchema" must have "type": "object".');
  entry.key('properties')?.object();
  return schema;
}

/** `{name}` is a placeholder (second group), and `{{name}}` is the literal text `{name}` (first group). */
export const placeholder = /\{\{(\w+)\}\}|\{(\w+)\}/g;

/** Throws on a placeholder without a property in the schema. `${NAME}` is an environment variable and not checked. */
function checkPlaceholders(entry: Entry, { properties }: JsonObject): void {
  const known = Object.keys((properties ?? {}) as JsonObject);
  for (const [, , name] of entry.text().replaceAll(variable, '').matchAll(placeholder))
    if (name !== undefined && !known.includes(name))
      entry.refuse(
        `{${name}} is not a property of the inputSchema${known.length > 0 ? ` (${known.join(', ')})` : ''}. For literal braces, write {{${name}}}.`,
      );
}

// --- Strings ----------------------------------------------------------------------------------------------

/** Throws if the name of a server or a command is invalid. */
function named(entry: Entry): Entry {
  if (/^[A-Za-z0-9_.-]{1,64}$/.test(entry.topic)) return entry;
  return entry.refuse(`"${entry.topic}" is not a valid name: use 1 to 64 letters, digits, "_", "-" and ".".`);
}

function texts(entry: Entry): Readonly<Record<string, string>> {
  return entry.map(expanded);
}

const variable = /\$\{(\w+)(?::-([^}]*))?\}/g;

/** Expands `${NAME}` and `${NAME:-fallback}`, so that secrets can stay out of the file. */
function expanded(entry: Entry): string {
  return entry.text().replace(variable, (_, name: string, fallback: string | undefined) => {
    const value = process.env[name] ?? fallback;
    if (value === undefined)
      entry.refuse(`"${entry.topic}" needs the environment variable ${name}, which is not set.`);
    return value;
  });
}
