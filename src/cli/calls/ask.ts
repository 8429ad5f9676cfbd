/** Asks a question at the terminal: a form field by field, or a link to open in a browser. */
import { createInterface } from 'node:readline/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Answer, Question } from '../../client/questions/question-callback.ts';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import { clean, oneLine, type Paint, truncate, wrap } from '../views/terminal-text.ts';

export interface PromptTerminal {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly paint: Paint;
  /** Called at Ctrl-C. */
  onInterrupt(): void;
}

/** Thrown when the user closes the prompt with Ctrl-D, which declines the question. */
class Declined extends Error {}

/**
 * Returns the answer of the user; Ctrl-D declines. Rejects when `signal` aborts, because an answer is no longer
 * needed.
 */
export async function ask(
  question: Question,
  signal: AbortSignal,
  terminal: PromptTerminal,
): Promise<Answer> {
  if (question.kind !== 'form' && question.kind !== 'url')
    throw new Error(`A ${question.kind} question cannot be answered at a terminal.`);
  const prompt = openPrompt(terminal, signal);
  try {
    prompt.printTitle('yellow', '?', question.message || `Question "${question.key}"`);
    if (question.problem !== undefined) prompt.printTitle('red', '✖', question.problem);
    return question.kind === 'url'
      ? await askLink(question.url, prompt)
      : await askForm(fieldsOf(question.schema), prompt);
  } catch (error) {
    if (!(error instanceof Declined)) throw error;
    prompt.printHint('Declined.');
    return { action: 'decline' };
  } finally {
    prompt.close();
  }
}

async function askForm(fields: readonly Field[], prompt: Prompt): Promise<Answer> {
  if (fields.length === 0) {
    const isConfirmed = await prompt.confirm('Continue?');
    return isConfirmed ? { action: 'accept', content: {} } : { action: 'decline' };
  }
  prompt.printHint('Press Enter to accept the value in [brackets], Ctrl-D to decline.');
  const content: Record<string, Json> = {};
  for (const field of fields) {
    const value = await prompt.askField(field);
    if (value !== undefined) content[field.name] = value;
  }
  return { action: 'accept', content };
}

/** Prints the link but does not open it: the user decides whether to trust it. */
async function askLink(url: string, prompt: Prompt): Promise<Answer> {
  prompt.printHint('Open this link to continue:');
  prompt.printUnwrapped(clean(url));
  return { action: (await prompt.confirm('Done?')) ? 'accept' : 'decline' };
}

type Prompt = ReturnType<typeof openPrompt>;

/** Opens a prompt for one question. The caller must close it. */
function openPrompt({ input, output, paint, onInterrupt }: PromptTerminal, signal: AbortSignal) {
  const closed = new AbortController();
  const ended = AbortSignal.any([signal, closed.signal]);
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  lines.on('SIGINT', () => onInterrupt());
  lines.on('close', () => closed.abort(new Declined()));
  const columns = () => output.columns || 80;
  const write = (line: string) => output.write(`${line}\n`);

  const printTitle = (colour: 'yellow' | 'red', mark: string, text: string) => {
    // The mark and a space take two columns, and the last column of the terminal stays empty.
    const [first, ...rest] = wrap(clean(text), columns() - 3);
    write(`${paint(colour, mark)} ${paint('bold', first!)}`);
    for (const line of rest) write(`  ${paint('bold', line)}`);
  };
  const printHint = (text: string) => {
    for (const line of wrap(text, columns() - 3)) write(`  ${paint('dim', line)}`);
  };
  const readLine = (field: Field): Promise<string> => {
    const { label, hint, isRequired } = field;
    const fallback = shownFallback(field);
    // `[]` marks an optional field without a default.
    const before = fallback === undefined ? (isRequired ? '' : ' []') : ` [${fallback}]`;
    const words = oneLine(label).replace(/:$/, '');
    const prompt = `${words}${hint === undefined ? '' : ` (${hint})`}${before}`;
    const end = /[?]$/.test(prompt) ? ' ' : ': ';
    // Leaves about 12 columns of the line for the answer.
    const shown = truncate(oneLine(prompt), Math.max(10, columns() - 16));
    return lines.question(`  ${shown}${end}`, { signal: ended }).catch((error: unknown) => {
      throw ended.aborted ? ended.reason : error;
    });
  };
  /** Asks until the input is valid. Returns undefined if an optional field is left empty. */
  const askField = async (field: Field): Promise<Json | undefined> => {
    if (field.description !== undefined) printHint(field.description);
    for (const [i, { title }] of field.choices.entries())
      write(truncate(`  ${i + 1}  ${title}`, columns() - 1));
    for (;;) {
      const read = field.read(await readLine(field));
      if ('value' in read) return read.value;
      for (const line of wrap(read.problem, columns() - 5)) write(`    ${paint('red', line)}`);
    }
  };
  /** Asks a yes-or-no question, as a form with one required field. */
  const confirm = async (prompt: string): Promise<boolean> => {
    const [field] = fieldsOf({ properties: { [prompt]: { type: 'boolean' } }, required: [prompt] });
    return (await askField(field!)) === true;
  };
  /** Prints a text without wrapping it, so that it can be copied. */
  const printUnwrapped = (text: string) => write(`  ${text}`);
  return { printTitle, printHint, printUnwrapped, askField, confirm, close: () => lines.close() };
}

type Field = ReturnType<typeof fieldOf>;

interface Choice {
  /** The value in the answer. */
  readonly value: string;
  /** The text that the user sees. */
  readonly title: string;
}

/** The parsed value (undefined if left empty), or what is wrong with the input. */
type Read = { readonly value: Json | undefined } | { readonly problem: string };

/** The fields of a form, from its JSON schema. */
export function fieldsOf(schema: JsonObject): Field[] {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, property]) =>
    fieldOf(name, isJsonObject(property) ? property : {}, required.includes(name)),
  );
}

function fieldOf(name: string, property: JsonObject, isRequired: boolean) {
  const { title, description, default: fallback } = property;
  const isList = property.type === 'array';
  const choices = choicesOf(isList && isJsonObject(property.items) ? property.items : property);
  const { hint, read } = parserOf(property, choices);
  return {
    name,
    label: oneLine(typeof title === 'string' ? title : name),
    /** The accepted input in short: `y/n`, `1 to 10`. */
    hint,
    description: typeof description === 'string' ? oneLine(description) : undefined,
    choices,
    isRequired,
    /** The default value in the schema. */
    fallback,
    /** Returns the value, or what is wrong with the input. */
    read: (input: string): Read => {
      const text = input.trim();
      if (text !== '') return read(text);
      if (fallback !== undefined) return { value: fallback };
      return isRequired ? { problem: 'A value is required.' } : { value: undefined };
    },
  };
}

/** The choices of an enumeration: `oneOf` or `anyOf` with titles, or `enum` with optional `enumNames`. */
function choicesOf({ enum: values, enumNames, oneOf, anyOf }: JsonObject): Choice[] {
  const titled = oneOf ?? anyOf;
  if (Array.isArray(titled))
    return titled.flatMap((choice) =>
      isJsonObject(choice) && choice.const !== undefined
        ? [{ value: String(choice.const), title: oneLine(String(choice.title ?? choice.const)) }]
        : [],
    );
  if (!Array.isArray(values)) return [];
  const names = Array.isArray(enumNames) ? enumNames : [];
  return values.map((value, i) => ({
    value: String(value),
    title: oneLine(String(names[i] ?? value)),
  }));
}

/** The default value as it is shown in the prompt; undefined if there is none. */
export function shownFallback({ fallback, choices }: Field): string | undefined {
  if (fallback === undefined) return undefined;
  if (typeof fallback === 'boolean') return fallback ? 'y' : 'n';
  const titleOf = (value: Json) =>
    choices.find((choice) => choice.value === value)?.title ?? oneLine(String(value));
  return Array.isArray(fallback) ? fallback.map(titleOf).join(', ') : titleOf(fallback as Json);
}

// --- Parsing the input ------------------------------------------------------------------------------------

interface Parser {
  readonly hint: string | undefined;
  readonly read: (text: string) => Read;
}

function parserOf(property: JsonObject, choices: readonly Choice[]): Parser {
  const { type, format } = property;
  const count = choices.length;
  if (type === 'array')
    return {
      hint: `numbers from 1 to ${count}, separated by commas`,
      read: (text) => readSome(text, property, choices),
    };
  if (count > 0) return { hint: `1 to ${count}`, read: (text) => readChoice(text, choices) };
  switch (type) {
    case 'boolean':
      return { hint: 'y/n', read: readYesOrNo };
    case 'integer':
    case 'number':
      return { hint: rangeOf(property), read: (text) => readNumber(text, property) };
    case 'string':
    case undefined:
      return { hint: formats[String(format)]?.hint, read: (text) => readText(text, property) };
    default:
      return { hint: undefined, read: readJsonValue };
  }
}

function rangeOf({ type, minimum, maximum }: JsonObject): string {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  if (minimum !== undefined) return `${minimum} or more`;
  if (maximum !== undefined) return `${maximum} or less`;
  return type === 'integer' ? 'a whole number' : 'a number';
}

function readYesOrNo(text: string): Read {
  const value = { y: true, yes: true, true: true, n: false, no: false, false: false }[text.toLowerCase()];
  return value === undefined ? { problem: 'Enter y or n.' } : { value };
}

function readNumber(text: string, { type, minimum, maximum }: JsonObject): Read {
  const value = Number(text);
  if (!Number.isFinite(value)) return { problem: `${oneLine(text)} is not a number.` };
  if (type === 'integer' && !Number.isInteger(value)) return { problem: 'It must be a whole number.' };
  if (typeof minimum === 'number' && value < minimum) return { problem: `It must be at least ${minimum}.` };
  if (typeof maximum === 'number' && value > maximum) return { problem: `It must be at most ${maximum}.` };
  return { value };
}

function readText(text: string, { minLength, maxLength, pattern, format }: JsonObject): Read {
  const { length } = [...text];
  if (typeof minLength === 'number' && length < minLength)
    return { problem: `It must have at least ${minLength} characters.` };
  if (typeof maxLength === 'number' && length > maxLength)
    return { problem: `It must have at most ${maxLength} characters.` };
  if (typeof pattern === 'string' && !matches(text, pattern))
    return { problem: `It must match ${oneLine(pattern)}.` };
  const known = formats[String(format)];
  return known && !known.matches(text) ? { problem: `It must be ${known.hint}.` } : { value: text };
}

/** Accepts everything if the pattern is invalid: then only the server can check the value. */
function matches(text: string, pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}

const formats: Readonly<Record<string, { readonly hint: string; matches(text: string): boolean }>> = {
  email: { hint: 'an e-mail address', matches: (text) => /^[^\s@]+@[^\s@]+$/.test(text) },
  uri: { hint: 'a URL', matches: (text) => URL.canParse(text) },
  date: {
    hint: 'a date such as 2026-07-28',
    matches: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  },
  'date-time': {
    hint: 'a time such as 2026-07-28T12:00:00Z',
    matches: (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text)),
  },
};

/** Returns the value of the chosen option. A number is tried last, because a value or title may be a number too. */
function chosen(text: string, choices: readonly Choice[]): string | undefined {
  const same = (word: string) => word.toLowerCase() === text.toLowerCase();
  const named = choices.find(({ value }) => value === text) ?? choices.find(({ title }) => same(title));
  return (named ?? (/^\d+$/.test(text) ? choices[Number(text) - 1] : undefined))?.value;
}

function readChoice(text: string, choices: readonly Choice[]): Read {
  const value = chosen(text, choices);
  return value === undefined
    ? { problem: `${oneLine(text)} is not one of the choices: enter a number from 1 to ${choices.length}.` }
    : { value };
}

/** Parses values separated by commas. Without choices, any value is accepted. */
function readSome(text: string, { minItems, maxItems }: JsonObject, choices: readonly Choice[]): Read {
  const words = text.split(',').map((word) => word.trim());
  const values = words.map((word) => (choices.length > 0 ? chosen(word, choices) : word));
  // The index is -1, and `wrong` undefined, if all words are valid.
  const wrong = words[values.indexOf(undefined)];
  if (wrong !== undefined) return { problem: `${oneLine(wrong)} is not one of the choices.` };
  const picked = [...new Set(values as string[])];
  if (typeof minItems === 'number' && picked.length < minItems)
    return { problem: `Choose at least ${minItems}.` };
  if (typeof maxItems === 'number' && picked.length > maxItems)
    return { problem: `Choose at most ${maxItems}.` };
  return { value: picked };
}

function readJsonValue(text: string): Read {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { problem: 'It must be JSON.' };
  }
}
