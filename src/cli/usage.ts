/** Shared by all commands: parsing of arguments, errors, and the name under which `holdfast` was started. */

import { readFileSync } from 'node:fs';
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { HoldfastError } from '../model/errors.ts';
import { clean } from './views/terminal-text.ts';

/** Ends a command with exit code 2. The message has no final period: a reference to `--help` is appended. */
export class WrongUsage extends HoldfastError {
  /** The command that prints help, if it is not the failed command with `--help`. */
  help?: string;

  constructor(message: string) {
    super('WRONG_USAGE', message);
  }
}

/** Ends a command with exit code 0 and prints its help, which is the message. */
export class HelpRequested extends Error {}

/** Ends a command with exit code 1. */
export class CommandFailed extends HoldfastError {
  constructor(message: string, options?: ErrorOptions) {
    super('COMMAND_FAILED', message, options);
  }
}

/** Prints to stderr. Control characters are removed, because errors may quote servers and files. */
export function printError({ message }: Pick<Error, 'message'>): void {
  console.error(`holdfast: ${clean(message)}`);
}

/** The arguments as Node infers them from the options. */
export type Arguments<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; allowPositionals: true }>
>;

/** Parses arguments. Every command also accepts `--help`. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  help: string,
  own: Options,
): Arguments<Options> {
  const options: ParseArgsOptionsConfig = { ...own, help: { type: 'boolean', short: 'h' } };
  // Not strict: Node's own error for an unknown option has several sentences.
  const found = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const { values, positionals, tokens } = found;
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const type = Object.hasOwn(options, token.name) ? options[token.name]!.type : undefined;
    if (type === undefined) throw new WrongUsage(`unknown option ${token.rawName}`);
    // A value that begins with `--` must follow a `=`; otherwise it is the next option.
    const isMissing = !token.value || (!token.inlineValue && token.value.startsWith('--'));
    if (type === 'string' && isMissing) throw new WrongUsage(`${token.rawName} needs a value`);
    if (type === 'boolean' && token.value !== undefined)
      throw new WrongUsage(`${token.rawName} takes no value`);
  }
  if (values.help) throw new HelpRequested(help);
  return { values, positionals } as Arguments<Options>;
}

/** `what` names the argument in the error: `the input`. */
export function readJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new WrongUsage(`${what} is not JSON: ${text}`);
  }
}

/** Returns the word if it is known. Otherwise throws `problem` as wrong usage. */
export function oneOf<Word extends string>(known: readonly Word[], word: string, problem: string): Word {
  const found = known.find((one) => one === word);
  if (!found) throw new WrongUsage(problem);
  return found;
}

/** Parses a whole number of at least 1. */
export function countFrom(text: string, option: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1)
    throw new WrongUsage(`${option} must be a whole number of at least 1, not "${text}"`);
  return count;
}

// --- The name of the command --------------------------------------------------------------------------------

export function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

/** The port of `serve` and `demo`. */
export const defaultPort = 7420;

/** `holdfast` as the user of this process would type it. */
export function command(): string {
  return process.env.npm_command === 'exec' || isNpmStart() ? 'npx holdfast' : 'holdfast';
}

/** The command that calls a tool of the demo at this URL. */
export function demoCall(url: string, ...call: readonly string[]): string {
  if (url !== `http://127.0.0.1:${defaultPort}/mcp`) return [command(), 'call', url, ...call].join(' ');
  return [demoCommand(), ...(isNpmStart() ? ['--'] : []), 'call', ...call].join(' ');
}

export function demoCommand(): string {
  return isNpmStart() ? 'npm start' : `${command()} demo`;
}

/** True for `npm start` in this repository, where `holdfast` is not on the path. */
function isNpmStart(): boolean {
  const { npm_lifecycle_event: script, npm_package_name: name } = process.env;
  return script === 'start' && name === 'holdfast';
}

/** Quotes a word for a shell. */
export function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
