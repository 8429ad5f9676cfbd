/**
 * Shared by the commands that run until they are stopped: config, port, the token of the dashboard, and messages about
 * the store.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { LogEntry } from '../../engine/log.ts';
import type { Config } from '../../gateway/config/config.ts';
import { runtime } from '../../runtime/runtime.ts';
import { CommandFailed, printError, WrongUsage } from '../usage.ts';

export const defaultConfigFile = 'holdfast.json';

/** A config, and the name of its default store. The same file or command always has the same name. */
type ServedConfig = { readonly config: Config; readonly storeName: string };

/** Reads the config file, by default the one in this folder. */
export async function configured(file: string | undefined): Promise<ServedConfig> {
  const { readConfig } = await import('../../gateway/config/config.ts');
  if (file === undefined && !existsSync(defaultConfigFile))
    throw new WrongUsage(
      `this folder has no ${defaultConfigFile}: pass --config FILE, or a command after --`,
    );
  const path = resolve(file ?? defaultConfigFile);
  return { config: readConfig(path), storeName: storeNameOf(basename(path, '.json'), path) };
}

/** The config of a single server that this command starts. Does not start the server yet. */
export async function started(words: readonly string[], env: Record<string, string>): Promise<ServedConfig> {
  const [command, ...args] = words;
  if (command === undefined)
    throw new WrongUsage('-- must be followed by the command that starts the server');
  const { configOf } = await import('../../gateway/config/config.ts');
  const cwd = process.cwd();
  const name = nameOf(words);
  const config = configOf({ command, args, env, cwd }, name);
  return { config, storeName: storeNameOf(name, JSON.stringify([words, cwd])) };
}

/**
 * The name of the program, without its scope, extension and version: `server-files` of `npx -y @scope/server-files`.
 */
function nameOf([command = '', ...args]: readonly string[]): string {
  const isRunner = /^(npx|bunx|pnpx|uvx|pipx|node|bun|deno|python3?|uv)(\.\w+)?$/.test(basename(command));
  const program = (isRunner && args.find((arg) => !arg.startsWith('-'))) || command;
  return (
    basename(program)
      .replace(/\.\w+$/, '')
      .replace(/@.*$/, '')
      .replaceAll(/[^\w.-]/g, '-')
      .slice(0, 40) || 'server'
  );
}

/** The name and a hash, because several configs may have the same name. */
function storeNameOf(name: string, identity: string): string {
  return `${name}-${createHash('sha256').update(identity).digest('hex').slice(0, 8)}`;
}

// --- Port and token -----------------------------------------------------------------------------------------

export function portFrom(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new WrongUsage(`"${text}" is not a port: use a number from 0 to 65535`);
  return port;
}

/** Rewords the error of a server that could not listen. Returns other errors unchanged. */
export function listenError(error: NodeJS.ErrnoException, port: number): Error {
  if (error.syscall !== 'listen') return error;
  if (error.code === 'EADDRINUSE')
    return new CommandFailed(
      `Port ${port} is in use: stop the program that uses it, or choose another port with --port.`,
    );
  if (error.code === 'EACCES')
    return new CommandFailed(`Port ${port} is not allowed for this user: choose another port with --port.`);
  return error;
}

/**
 * The token of the dashboard, from the environment or a new one, and the fragment to append to the address. A token
 * from the environment is not printed, so that it appears in no log.
 */
export function operatorToken() {
  const given = process.env.HOLDFAST_OPERATOR_TOKEN;
  if (given) return { token: given, fragment: '' };
  const token = runtime.randomBytes(24).toString('base64url');
  return { token, fragment: `#token=${token}` };
}

// --- Problems of the store ----------------------------------------------------------------------------------

/** Texts for log entries about the store. Other entries are not printed. */
const storeMessages: Readonly<Record<string, (entry: LogEntry) => string>> = {
  storeFailed: ({ detail }) => `The task store fails${repeated(detail?.times)}: ${detail?.message}`,
  storeRecovered: ({ detail }) =>
    `The task store works again, after ${Math.ceil(Number(detail?.failedMs) / 1_000)} s.`,
  damaged: ({ task, detail }) => `Task ${task} is corrupt: ${detail?.message}`,
  overfull: ({ detail }) =>
    `The task store holds ${detail?.size} bytes, more than its maxStoreSize of ${detail?.largest}, and no more tasks can be removed.`,
};

export function printStoreProblem(entry: LogEntry): void {
  const message = storeMessages[entry.event]?.(entry);
  if (message !== undefined) printError({ message });
}

function repeated(times: unknown): string {
  return typeof times === 'number' && times > 1 ? ` (${times} times since the last message)` : '';
}
