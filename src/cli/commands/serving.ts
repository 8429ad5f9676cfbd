/**
 * What the commands share that serve or work until they are stopped: what is served, on which port, the token of the
 * dashboard, and what they print about the store.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { LogEntry } from '../../engine/log.ts';
import type { Config } from '../../gateway/config/config.ts';
import { runtime } from '../../runtime/runtime.ts';
import { CommandFailed, say, WrongUsage } from '../usage.ts';

export const usualFile = 'holdfast.json';

/** With a name for where its tasks are kept: the same for the same config, and different for another. */
type Served = { readonly config: Config; readonly place: string };

export async function configured(file: string | undefined): Promise<Served> {
  const { readConfig } = await import('../../gateway/config/config.ts');
  if (file === undefined && !existsSync(usualFile))
    throw new WrongUsage(`there is no ${usualFile} here: give --config FILE, or a command after --`);
  const path = resolve(file ?? usualFile);
  return { config: readConfig(path), place: placeOf(basename(path, '.json'), path) };
}

export async function started(words: readonly string[], env: Record<string, string>): Promise<Served> {
  const [command, ...args] = words;
  if (command === undefined) throw new WrongUsage('after -- comes the command that starts the server');
  const { configOf } = await import('../../gateway/config/config.ts');
  const cwd = process.cwd();
  const name = nameOf(words);
  const config = configOf({ command, args, env, cwd }, name);
  return { config, place: placeOf(name, JSON.stringify([words, cwd])) };
}

/** Of `npx -y @scope/server-files` the last part that says what it is. */
function nameOf([command = '', ...args]: readonly string[]): string {
  const isRunner = /^(npx|bunx|pnpx|uvx|pipx|node|bun|deno|python3?|uv)(\.\w+)?$/.test(basename(command));
  const said = (isRunner && args.find((arg) => !arg.startsWith('-'))) || command;
  return (
    basename(said)
      .replace(/\.\w+$/, '')
      .replace(/@.*$/, '')
      .replaceAll(/[^\w.-]/g, '-')
      .slice(0, 40) || 'server'
  );
}

function placeOf(name: string, identity: string): string {
  return `${name}-${createHash('sha256').update(identity).digest('hex').slice(0, 8)}`;
}

// --- Port and token -----------------------------------------------------------------------------------------

export function portFrom(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new WrongUsage(`"${text}" is no port: use a number from 0 to 65535`);
  return port;
}

/** The error of a server that could not listen, in words; any other as it is. */
export function portWorded(error: NodeJS.ErrnoException, port: number): Error {
  if (error.syscall !== 'listen') return error;
  if (error.code === 'EADDRINUSE')
    return new CommandFailed(`Port ${port} is taken: stop what uses it, or choose another with --port.`);
  if (error.code === 'EACCES')
    return new CommandFailed(`Port ${port} is not for this user: choose another with --port.`);
  return error;
}

/**
 * The token of the dashboard, the one that was given or a new one; and what to put behind the address. A token that was
 * given is known to whoever gave it, and need not be in any log.
 */
export function operatorToken() {
  const given = process.env.HOLDFAST_OPERATOR_TOKEN;
  if (given) return { token: given, fragment: '' };
  const token = runtime.randomBytes(24).toString('base64url');
  return { token, fragment: `#token=${token}` };
}

// --- Trouble of the store -----------------------------------------------------------------------------------

const told: Readonly<Record<string, (entry: LogEntry) => string>> = {
  storeFailed: ({ detail }) => `The task store fails${repeated(detail?.times)}. ${detail?.message}`,
  storeRecovered: ({ detail }) =>
    `The task store works again, after ${Math.ceil(Number(detail?.failedMs) / 1_000)} s.`,
  damaged: ({ task, detail }) => `Task ${task} is damaged. ${detail?.message}`,
  overfull: ({ detail }) =>
    `The task store holds ${detail?.size} bytes, more than its maxStoreSize of ${detail?.largest}: nothing more may be removed.`,
};

export function sayStoreTrouble(entry: LogEntry): void {
  const message = told[entry.event]?.(entry);
  if (message !== undefined) say({ message });
}

function repeated(times: unknown): string {
  return typeof times === 'number' && times > 1 ? ` (${times} times since it was last said)` : '';
}
