/** What all commands share: how they read their arguments, and how they say that they cannot. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { HoldfastError } from '../model/errors.ts';
import { clean } from './live/width.ts';

/** Ends a command with exit code 2. The message is a sentence without its end: how to get help is added to it. */
export class WrongUsage extends HoldfastError {
  /** The command that helps. */
  help = 'holdfast --help';
}

/** Ends a command with exit code 1. */
export class CommandFailed extends HoldfastError {}

/** On stderr. Errors may quote what servers and files say, which must not steer the terminal. */
export function say({ message }: Pick<Error, 'message'>): void {
  console.error(`holdfast: ${clean(message)}`);
}

type Values<Options> = {
  readonly [Name in keyof Options]?: Options[Name] extends { readonly type: 'boolean' }
    ? boolean
    : Options[Name] extends { readonly multiple: true }
      ? readonly string[]
      : string;
};

export interface Arguments<Options> {
  readonly values: Values<Options>;
  readonly positionals: readonly string[];
}

export function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
): Arguments<Options> {
  // Not strict: Node's own words for unknown options are several sentences.
  const { values, positionals, tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const type = Object.hasOwn(options, token.name) ? options[token.name]!.type : undefined;
    if (type === undefined) throw new WrongUsage(`there is no option ${token.rawName}`);
    const isMissing = !token.value || (!token.inlineValue && token.value.startsWith('--'));
    if (type === 'string' && isMissing) throw new WrongUsage(`${token.rawName} needs a value`);
    if (type === 'boolean' && token.value !== undefined)
      throw new WrongUsage(`${token.rawName} takes no value`);
  }
  return { values: values as Values<Options>, positionals };
}

export function readJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new WrongUsage(`${what} is not JSON: ${text}`);
  }
}
