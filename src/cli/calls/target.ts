/** Which server is meant, how it is reached, and what is written down to reach it again: never a secret. */

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

/** Kept with a handle. Headers are kept by name, and what a file says is read there again. */
export type Kept = (
  | { readonly url: string }
  | { readonly command: string; readonly args: readonly string[]; readonly cwd: string }
  | { readonly config: string; readonly name: string }
) &
  ReturnType<typeof agreed>;

export const revisions = ['auto', '2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof revisions)[number];

export interface Target {
  readonly kept: Kept;
  /** Under which its handles are listed; by default the server's own name. */
  readonly name: string | undefined;
  readonly upstream: Upstream;
}

export interface TargetOptions {
  readonly config: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly revision: Revision;
  readonly drafts: boolean;
}

function agreed({ headers, revision, drafts }: TargetOptions) {
  const names = Object.keys(headers);
  return {
    ...(names.length > 0 && { headers: names }),
    ...(revision !== 'auto' && { revision }),
    ...(drafts && { drafts }),
  };
}

/** A URL, or a name in a file. */
export function targetNamed(named: string, options: TargetOptions): Target {
  const { headers } = options;
  if (/^https?:\/\//i.test(named) && URL.canParse(named))
    return { name: undefined, upstream: { url: named, headers }, kept: { url: named, ...agreed(options) } };
  const { file, upstream } = configured(named, options.config);
  return {
    name: named,
    upstream: 'url' in upstream ? { ...upstream, headers: { ...upstream.headers, ...headers } } : upstream,
    kept: { config: file, name: named, ...agreed(options) },
  };
}

export function targetStarted(
  [command, ...args]: readonly string[],
  options: TargetOptions,
  cwd = process.cwd(),
): Target {
  if (command === undefined) throw new WrongUsage('after -- comes the command that starts the server');
  return {
    name: undefined,
    upstream: { command, args, env: inheritedEnvironment(), cwd },
    kept: { command, args, cwd, ...agreed(options) },
  };
}

/** The server of a handle that was written down earlier. */
export function targetKept(kept: JsonObject | undefined, headers: Readonly<Record<string, string>>): Target {
  if (!isJsonObject(kept))
    throw new CommandFailed(
      'Another program made this call, and did not say how its server is reached: come back to it there.',
    );
  const place = kept as unknown as Kept;
  const { headers: names = [], revision = 'auto', drafts = false } = place;
  const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const missing = names.find((name) => !given.has(name.toLowerCase()));
  if (missing !== undefined)
    throw new WrongUsage(`the header ${missing} is not kept: give it again with --header '${missing}: …'`);
  const options: TargetOptions = { config: undefined, headers, revision, drafts };
  if ('url' in place) return targetNamed(place.url, options);
  if ('config' in place) return targetNamed(place.name, { ...options, config: place.config });
  return targetStarted([place.command, ...place.args], options, place.cwd);
}

export function described({ upstream }: Target): string {
  return oneLine('url' in upstream ? upstream.url : [upstream.command, ...upstream.args].join(' '));
}

/** Headers as curl takes them. */
export function headersFrom(texts: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/.exec(text) ?? [];
      if (name === undefined) throw new WrongUsage(`--header takes 'Name: value', not '${text}'`);
      if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value!))
        throw new WrongUsage(`the value of the header ${name} has characters that cannot be sent`);
      return [name, value!];
    }),
  );
}

// --- Connecting -------------------------------------------------------------------------------------------

export async function connectTo(
  target: Target,
  options: Omit<ConnectTasksOptions, 'target' | 'server' | 'headers' | 'drafts'>,
): Promise<TaskClient> {
  const { kept, name, upstream } = target;
  // Loaded when it is needed: who asks for help, or asks wrongly, does not wait for it.
  const { Client } = await import('@modelcontextprotocol/client');
  const { connectTasks } = await import('../../client.ts');
  const client = new Client({ name: 'holdfast', version: version() });
  const { revision = 'auto' } = kept;
  client.setVersionNegotiation({
    mode: revision === 'auto' ? 'auto' : revision === '2025-11-25' ? 'legacy' : { pin: revision },
  });
  let program: ProgramTransport | undefined;
  const started = (command: Program) => {
    program = new ProgramTransport(command, program?.exitsOnProbe);
    return program;
  };
  try {
    return await connectTasks(client, 'url' in upstream ? upstream.url : () => started(upstream), {
      ...options,
      ...('url' in upstream && { headers: upstream.headers }),
      ...(name !== undefined && { server: name }),
      ...(kept.drafts && { drafts: 'all' }),
      target: kept as unknown as JsonObject,
    });
  } catch (error) {
    throw unreachable(error, target, program?.lastStderrLine);
  }
}

/** No server answered where the caller looked for one. */
export class NoServer extends CommandFailed {}

function unreachable(error: unknown, target: Target, complaint: string | undefined): CommandFailed {
  const where = described(target);
  const { status, code } = error as { status?: number; code?: unknown };
  if (status === 401 || status === 403 || /\b401\b|unauthorized/i.test(String(error)))
    return new CommandFailed(
      `The server at ${where} wants to know who asks: give --header 'Authorization: Bearer …'.`,
    );
  if (code === 'ENOENT' && 'command' in target.upstream)
    return new CommandFailed(`There is no command "${target.upstream.command}".`);
  let deepest = error as Error;
  while (deepest.cause instanceof Error) deepest = deepest.cause;
  const why = oneLine(complaint ?? (deepest.message || String(error))).replace(/\.$/, '');
  return new NoServer(
    'url' in target.upstream
      ? `There is no MCP server at ${where}: ${why}.`
      : `"${where}" does not serve MCP: ${why}.`,
  );
}

// --- Servers by name, in a file with the key `mcpServers`, as every MCP host has one ------------------------

const usualFiles = ['.mcp.json', 'holdfast.json'];

/** The server of that name, and the file that it was found in. */
function configured(name: string, file: string | undefined): { file: string; upstream: Upstream } {
  const given = file === undefined ? usualFiles.filter((usual) => existsSync(usual)) : [file];
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
      `"${name}" is no URL, and there is no ${usualFiles.join(' or ')} here that knows it`,
    );
  const known = names.length > 0 ? `, only ${names.map((known) => `"${known}"`).join(', ')}` : '';
  throw new WrongUsage(`${files.join(' and ')} ${files.length > 1 ? 'know' : 'knows'} no "${name}"${known}`);
}
