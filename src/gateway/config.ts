/**
 * What stands behind a gateway: servers under the key `mcpServers`, as every MCP host writes it, and programs under
 * `commands`, each with a policy for its tasks. A file that is wrong in any respect is refused as a whole, with the line.
 */
import type { Retry } from '../engine/retry.ts';
import type { TaskSetting, ToolAnnotations } from '../engine/tool.ts';
import { defaultLimits, type Limits } from '../hosting/limits.ts';
import type { Duration } from '../model/duration.ts';
import type { JsonObject } from '../model/json.ts';
import type { AttachOptions, HandOverOptions } from '../server/hand-over/options.ts';
import { type Entry, readConfigFile } from './config-file.ts';

export interface Config {
  readonly upstreams: Readonly<Record<string, UpstreamConfig>>;
  readonly commands: Readonly<Record<string, CommandConfig>>;
  /** What one caller may ask for, and all together. */
  readonly limits: Partial<Limits>;
  /** What clients that know no tasks get. */
  readonly plainClients: NonNullable<AttachOptions['plainClients']>;
}

/** How a server is reached. */
export type Target =
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
    };

export interface UpstreamConfig {
  readonly target: Target;
  readonly policy: Policy;
  /** What differs for some of its tools, by their own names. */
  readonly tools: Readonly<Record<string, Policy>>;
}

/** What is said about tasks. What is not said holds as for any durable tool. */
export interface Policy {
  readonly task?: TaskSetting;
  readonly deadline?: Duration | 'none';
  readonly retention?: Duration;
  readonly concurrency?: number;
  /** After a lost connection, and only of what does no harm if it is carried out twice. */
  readonly retry?: Retry;
  /** Whether being carried out twice does no harm; otherwise the tool's own annotations say so. */
  readonly idempotent?: boolean;
  /** Whether a repeated plain call joins the lost one. Default true. */
  readonly joinable?: boolean;
}

export interface CommandConfig {
  readonly command: string;
  /** Each becomes one argument; `{name}` stands for an input, and nothing in it is ever read by a shell. */
  readonly args: readonly string[];
  readonly stdin?: string;
  readonly shell: boolean;
  readonly title?: string;
  readonly description?: string;
  readonly annotations?: ToolAnnotations;
  readonly inputSchema: JsonObject;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeout?: Duration;
  /** How long it may take to end after SIGTERM. */
  readonly killAfter: Duration;
  /** Bytes of output that are kept. */
  readonly largestOutput: number;
  readonly policy: Policy;
}

const policyKeys = [
  'task',
  'deadline',
  'retention',
  'concurrency',
  'retry',
  'idempotent',
  'joinable',
] as const;
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
  'args',
  'stdin',
  'shell',
  'title',
  'description',
  'annotations',
  'inputSchema',
  'env',
  'cwd',
  'timeout',
  'killAfter',
  'largestOutput',
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
  const upstreams = (servers?.entries() ?? [])
    .filter(([, entry]) => entry.key('disabled')?.value !== true)
    .map(([name, entry]) => [checkedName(name, entry), upstreamIn(name, entry)] as const);
  return {
    upstreams: Object.fromEntries(upstreams),
    commands: Object.fromEntries(
      (commands?.entries() ?? []).map(([name, entry]) => [checkedName(name, entry), commandIn(name, entry)]),
    ),
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
export function targetIn(name: string, server: Entry): Target {
  server.object();
  const url = server.key('url');
  const command = server.key('command');
  if (url && command) server.refuse(`"${name}" has both a "command" and a "url": one server is one of them.`);
  if (url) {
    const address = expanded(url, name);
    if (!/^https?:\/\//i.test(address) || !URL.canParse(address))
      url.refuse(`"${address}" is no URL of an MCP server: it begins with http:// or https://.`);
    return { url: address, headers: texts(server.key('headers'), name) };
  }
  if (!command) return server.refuse(`"${name}" has neither a "command" nor a "url".`);
  const cwd = server.key('cwd');
  return {
    command: expanded(command, name),
    args: (server.key('args')?.list() ?? []).map((arg) => expanded(arg, name)),
    env: texts(server.key('env'), name),
    ...(cwd && { cwd: expanded(cwd, name) }),
  };
}

/** Most calls that pass through never become tasks, and all callers on this machine count as one. */
const ownLimits: Partial<Limits> = {
  callsPerMinute: 60_000,
  looksPerMinute: 600_000,
  resultsPerMinute: 60_000,
  liveTasksPerOwner: 10_000,
  keptTasksPerOwner: 100_000,
};

function limitsIn(entry: Entry | undefined): Partial<Limits> {
  const given = (entry?.only(Object.keys(defaultLimits)).entries() ?? []).map(([name, limit]) => [
    name,
    limit.count(),
  ]);
  return { ...ownLimits, ...Object.fromEntries(given) };
}

function plainClientsIn(entry: Entry | undefined): Config['plainClients'] {
  if (!entry) return 'hand-over';
  if (typeof entry.value === 'string') return entry.oneOf(['hand-over', 'wait']);
  const durations = ['window', 'windowWithProgress', 'keepDelivered'] as const;
  const flags = ['earlierRevisions', 'required'] as const;
  entry.only([...durations, ...flags, 'prefix']);
  const prefix = entry.key('prefix');
  const read = <K extends string, V>(keys: readonly K[], value: (one: Entry) => V) =>
    Object.fromEntries(
      keys.flatMap((key) => {
        const one = entry.key(key);
        return one ? [[key, value(one)]] : [];
      }),
    );
  return {
    ...read(durations, (one) => one.duration()),
    ...read(flags, (one) => one.flag()),
    ...(prefix && { prefix: prefix.text() }),
  } satisfies HandOverOptions;
}

function upstreamIn(name: string, server: Entry): UpstreamConfig {
  server.only([...serverKeys, ...keysOfHosts]);
  const tools = (server.key('tools')?.entries() ?? []).map(
    ([tool, entry]) => [tool, policyIn(entry.only(policyKeys))] as const,
  );
  return { target: targetIn(name, server), policy: policyIn(server), tools: Object.fromEntries(tools) };
}

function policyIn(entry: Entry): Policy {
  const [task, deadline, retention, concurrency, retry, idempotent, joinable] = policyKeys.map((key) =>
    entry.key(key),
  );
  if (retry && idempotent?.flag() === false)
    retry.refuse('what is not idempotent is not tried again: take "retry" or "idempotent": false away.');
  return {
    ...(task && { task: task.oneOf(['auto', 'always', 'required', 'never']) }),
    ...(deadline && { deadline: deadline.value === 'none' ? ('none' as const) : deadline.duration() }),
    ...(retention && { retention: retention.duration() }),
    ...(concurrency && { concurrency: concurrency.count() }),
    ...(retry && { retry: retryIn(retry) }),
    ...(idempotent && { idempotent: idempotent.flag() }),
    ...(joinable && { joinable: joinable.flag() }),
  };
}

function retryIn(entry: Entry): Retry {
  if (typeof entry.value === 'number') return { attempts: entry.count() };
  const [attempts, delay, maxDelay] = ['attempts', 'delay', 'maxDelay'].map((key) =>
    entry.only(['attempts', 'delay', 'maxDelay']).key(key),
  );
  return {
    ...(attempts && { attempts: attempts.count() }),
    ...(delay && { delay: delay.duration() }),
    ...(maxDelay && { maxDelay: maxDelay.duration() }),
  };
}

// --- Commands ---------------------------------------------------------------------------------------------

function commandIn(name: string, entry: Entry): CommandConfig {
  entry.only(commandKeys);
  const command = entry.key('command') ?? entry.refuse(`"${name}" has no "command".`);
  const inputSchema = schemaIn(entry.key('inputSchema'));
  const shell = entry.key('shell')?.flag() ?? false;
  const stdin = entry.key('stdin');
  const args = entry.key('args')?.list() ?? [];
  const policy = policyIn(entry);
  const retry = entry.key('retry');
  if (retry && !policy.idempotent)
    retry.refuse(`"retry" needs "idempotent": true: "${name}" may be run again.`);
  for (const text of [...args, ...(stdin ? [stdin] : [])]) checkPlaceholders(text, inputSchema);
  const [title, description, cwd, timeout] = ['title', 'description', 'cwd', 'timeout'].map((key) =>
    entry.key(key),
  );
  const annotations = entry.key('annotations');
  return {
    // What a shell reads has its own `${…}`.
    command: shell ? command.text() : expanded(command, name),
    args: args.map((arg) => expanded(arg, name)),
    ...(stdin && { stdin: expanded(stdin, name) }),
    shell,
    ...(title && { title: title.text() }),
    ...(description && { description: description.text() }),
    ...(annotations && { annotations: annotations.object() as ToolAnnotations }),
    inputSchema,
    env: texts(entry.key('env'), name),
    ...(cwd && { cwd: expanded(cwd, name) }),
    ...(timeout && { timeout: timeout.duration() }),
    killAfter: entry.key('killAfter')?.duration() ?? '5s',
    largestOutput: entry.key('largestOutput')?.count() ?? 256 * 1024,
    policy,
  };
}

function schemaIn(entry: Entry | undefined): JsonObject {
  if (!entry) return { type: 'object', properties: {}, additionalProperties: false };
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

function checkedName(name: string, entry: Entry): string {
  if (/^[A-Za-z0-9_.-]{1,64}$/.test(name)) return name;
  return entry.refuse(`"${name}" is no name: use 1 to 64 letters, digits, "_", "-" and ".".`);
}

function texts(entry: Entry | undefined, name: string): Record<string, string> {
  return Object.fromEntries((entry?.entries() ?? []).map(([key, value]) => [key, expanded(value, name)]));
}

const variable = /\$\{(\w+)(?::-([^}]*))?\}/g;

/** `${NAME}` and `${NAME:-otherwise}`, so that secrets need not be in the file. */
function expanded(entry: Entry, server: string): string {
  return entry.text().replace(variable, (_, name: string, otherwise: string | undefined) => {
    const value = process.env[name] ?? otherwise;
    if (value === undefined) entry.refuse(`"${server}" needs ${name}, which is not in the environment.`);
    return value;
  });
}
