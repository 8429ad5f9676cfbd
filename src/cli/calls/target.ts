/** The server of a call, how to connect to it, and what is saved to reach it again. Secrets are never saved. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { TaskClient } from '../../client/task-client.ts';
import { inheritedEnvironment, type Program, ProgramTransport } from '../../client/transports/stdio.ts';
import type { ConnectTasksOptions } from '../../client.ts';
import { serversIn, targetIn, type Target as Upstream } from '../../gateway/config/config.ts';
import { readConfigFile } from '../../gateway/config/config-file.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { CommandFailed, version, WrongUsage } from '../usage.ts';
import { oneLine } from '../views/terminal-text.ts';

/**
 * How to reach the server again, saved with a handle. Header values can be secret, so only the names are saved. Of a
 * config file only its path is saved, and the file is read again.
 */
export type SavedTarget = (
  | { readonly url: string }
  | { readonly command: string; readonly args: readonly string[]; readonly cwd: string }
  | { readonly config: string; readonly name: string }
) &
  ReturnType<typeof savedOptions>;

/** The values of `--revision`. */
export const revisions = ['auto', '2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof revisions)[number];

export interface Target {
  readonly saved: SavedTarget;
  /** The server name in lists of calls; by default the server's own name. */
  readonly name: string | undefined;
  /** How to connect now, with the values of headers. */
  readonly upstream: Upstream;
}

export interface TargetOptions {
  readonly config: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly revision: Revision;
  readonly drafts: boolean;
}

/** The options to save, without defaults. */
function savedOptions({ headers, revision, drafts }: TargetOptions) {
  const names = Object.keys(headers);
  return {
    ...(names.length > 0 && { headers: names }),
    ...(revision !== 'auto' && { revision }),
    ...(drafts && { drafts }),
  };
}

/** The server with this URL, or with this name in a config file. */
export function targetNamed(named: string, options: TargetOptions): Target {
  const { headers } = options;
  if (/^https?:\/\//i.test(named) && URL.canParse(named))
    return {
      name: undefined,
      upstream: { url: named, headers },
      saved: { url: named, ...savedOptions(options) },
    };
  const { file, upstream } = configuredServer(named, options.config);
  return {
    name: named,
    upstream: 'url' in upstream ? { ...upstream, headers: { ...upstream.headers, ...headers } } : upstream,
    saved: { config: file, name: named, ...savedOptions(options) },
  };
}

/** The server that this command starts. */
export function targetFromCommand(
  [command, ...args]: readonly string[],
  options: TargetOptions,
  cwd = process.cwd(),
): Target {
  if (command === undefined)
    throw new WrongUsage('-- must be followed by the command that starts the server');
  return {
    name: undefined,
    upstream: { command, args, env: inheritedEnvironment(), cwd },
    saved: { command, args, cwd, ...savedOptions(options) },
  };
}

/** The server of a saved handle. Throws if the value of a saved header is not given again. */
export function restoreTarget(
  saved: JsonObject | undefined,
  headers: Readonly<Record<string, string>>,
): Target {
  if (!isJsonObject(saved))
    throw new CommandFailed(
      'Another program made this call and did not save how to reach the server: resume the call in that program.',
    );
  const server = saved as unknown as SavedTarget;
  const { headers: names = [], revision = 'auto', drafts = false } = server;
  const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const missing = names.find((name) => !given.has(name.toLowerCase()));
  if (missing !== undefined)
    throw new WrongUsage(`the header ${missing} is not saved: pass it again with --header '${missing}: …'`);
  const options: TargetOptions = { config: undefined, headers, revision, drafts };
  if ('url' in server) return targetNamed(server.url, options);
  if ('config' in server) return targetNamed(server.name, { ...options, config: server.config });
  return targetFromCommand([server.command, ...server.args], options, server.cwd);
}

/** The URL or the command, for messages. */
export function described({ upstream }: Target): string {
  return oneLine('url' in upstream ? upstream.url : [upstream.command, ...upstream.args].join(' '));
}

/** Parses headers in the format of curl. */
export function headersFrom(texts: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/.exec(text) ?? [];
      if (name === undefined) throw new WrongUsage(`--header takes 'Name: value', not '${text}'`);
      if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value!))
        throw new WrongUsage(`the value of the header ${name} contains characters that cannot be sent`);
      return [name, value!];
    }),
  );
}

// --- Connecting -------------------------------------------------------------------------------------------

export async function connectTo(
  target: Target,
  options: Omit<ConnectTasksOptions, 'target' | 'server' | 'headers' | 'drafts'>,
): Promise<TaskClient> {
  const { saved, name, upstream } = target;
  // Loaded late, so that --help and usage errors are fast.
  const { Client } = await import('@modelcontextprotocol/client');
  const { connectTasks } = await import('../../client.ts');
  const client = new Client({ name: 'holdfast', version: version() });
  const { revision = 'auto' } = saved;
  client.setVersionNegotiation({
    mode: revision === 'auto' ? 'auto' : revision === '2025-11-25' ? 'legacy' : { pin: revision },
  });
  let program: ProgramTransport | undefined;
  const started = (command: Program) => {
    // A program that exited on the probe of the last connection is not probed again.
    program = new ProgramTransport(command, program?.exitsOnProbe);
    return program;
  };
  try {
    return await connectTasks(client, 'url' in upstream ? upstream.url : () => started(upstream), {
      ...options,
      ...('url' in upstream && { headers: upstream.headers }),
      ...(name !== undefined && { server: name }),
      ...(saved.drafts && { drafts: 'all' }),
      target: saved as unknown as JsonObject,
    });
  } catch (error) {
    throw connectError(error, target, program?.lastStderrLine);
  }
}

/** No MCP server answered at the target, for example because none is running there. */
export class NoServer extends CommandFailed {}

/** Rewords an error of connecting. `complaint` is the last line that the server printed to stderr. */
function connectError(error: unknown, target: Target, complaint: string | undefined): CommandFailed {
  const where = described(target);
  const { status, code } = error as { status?: number; code?: unknown };
  if (status === 401 || status === 403 || /\b401\b|unauthorized/i.test(String(error)))
    return new CommandFailed(
      `The server at ${where} requires authentication: pass --header 'Authorization: Bearer …'.`,
    );
  if (code === 'ENOENT' && 'command' in target.upstream)
    return new CommandFailed(`Command not found: "${target.upstream.command}".`);
  let cause = error as Error;
  while (cause.cause instanceof Error) cause = cause.cause;
  const why = oneLine(complaint ?? (cause.message || String(error))).replace(/\.$/, '');
  return new NoServer(
    'url' in target.upstream
      ? `There is no MCP server at ${where}: ${why}.`
      : `"${where}" does not serve MCP: ${why}.`,
  );
}

// --- Servers by name, in a config file of an MCP host (key `mcpServers`) ------------------------------------

const defaultFiles = ['.mcp.json', 'holdfast.json'];

/** The server with this name, and the file that names it. */
function configuredServer(name: string, file: string | undefined): { file: string; upstream: Upstream } {
  const given = file === undefined ? defaultFiles.filter((file) => existsSync(file)) : [file];
  const files = given.map((one) => resolve(one));
  const names: string[] = [];
  for (const file of files) {
    const servers = serversIn(readConfigFile(file));
    const server = servers.key(name);
    if (server) return { file, upstream: targetIn(server) };
    names.push(...Object.keys(servers.object()));
  }
  if (files.length === 0)
    throw new WrongUsage(
      `"${name}" is not a URL, and this folder has no ${defaultFiles.join(' or ')} that could name a server`,
    );
  const known = names.length > 0 ? `, only ${names.map((known) => `"${known}"`).join(', ')}` : '';
  throw new WrongUsage(
    `${files.join(' and ')} ${files.length > 1 ? 'have' : 'has'} no server "${name}"${known}`,
  );
}
