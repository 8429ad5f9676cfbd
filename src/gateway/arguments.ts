/** What a program is started with: every argument is one word to it, whatever is in it. */
import { HoldfastError } from '../model/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { placeholder } from './config.ts';

/** An input that no program can be given. */
export class ArgumentRefused extends HoldfastError {}

/** Linux takes no longer word, and no other system takes much more. */
const longestArgument = 131_071;

/** One word for each text; a list that is all of a text becomes as many words; what was not given leaves its text out. */
export function argumentsFrom(texts: readonly string[], input: JsonObject): string[] {
  return texts.flatMap((text) => {
    const whole = /^\{(\w+)\}$/.exec(text)?.[1];
    const value = whole === undefined ? undefined : input[whole];
    if (Array.isArray(value)) return value.map((one) => checked(whole!, written(one)));
    const filled = fill(text, input);
    return filled === undefined ? [] : [checked(text, filled)];
  });
}

/** A text with its placeholders filled in; undefined if one of them was not given. */
export function fill(text: string, input: JsonObject): string | undefined {
  let isComplete = true;
  const filled = text.replace(placeholder, (_, literal: string | undefined, name: string) => {
    if (literal !== undefined) return `{${literal}}`;
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    if (value === undefined || value === null) isComplete = false;
    return written(value);
  });
  return isComplete ? filled : undefined;
}

function written(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  return isJsonObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
}

function checked(what: string, word: string): string {
  if (word.includes('\0'))
    throw new ArgumentRefused(
      `"${what}" has a NUL character in it, which no argument of a program can carry.`,
    );
  const bytes = Buffer.byteLength(word);
  if (bytes > longestArgument)
    throw new ArgumentRefused(
      `"${what}" has ${bytes} bytes, and an argument of a program may have ${longestArgument}. What is long is given to standard input: see "stdin" in the config.`,
    );
  return word;
}
