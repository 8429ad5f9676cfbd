/** Puts a question to whoever sits at the terminal: forms field by field, links to be opened elsewhere. */
import { createInterface } from 'node:readline/promises';
import type { ReadStream, WriteStream } from 'node:tty';
import type { Answer, Question } from '../../client/questions/question-callback.ts';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import { clean, oneLine, type Paint, truncate, wrap } from '../views/terminal-text.ts';

export interface Desk {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly paint: Paint;
  onInterrupt(): void;
}

class Declined extends Error {}

/** Rejects when the signal says that nobody need answer any more. */
export async function ask(question: Question, signal: AbortSignal, desk: Desk): Promise<Answer> {
  if (question.kind !== 'form' && question.kind !== 'url')
    throw new Error(`A ${question.kind} question is not for people.`);
  const person = personAt(desk, signal);
  try {
    person.hear('yellow', '?', question.message || `It asks "${question.key}".`);
    if (question.problem !== undefined) person.hear('red', '✖', question.problem);
    return question.kind === 'url'
      ? await confirmed(question.url, person)
      : await filled(fieldsOf(question.schema), person);
  } catch (error) {
    if (!(error instanceof Declined)) throw error;
    person.tell('Declined.');
    return { action: 'decline' };
  } finally {
    person.leave();
  }
}

async function filled(fields: readonly Field[], person: Person): Promise<Answer> {
  if (fields.length === 0) {
    const agrees = await person.agrees('Go on?');
    return agrees ? { action: 'accept', content: {} } : { action: 'decline' };
  }
  person.tell('Enter takes what is in [brackets]; Ctrl-D declines.');
  const content: Record<string, Json> = {};
  for (const field of fields) {
    const value = await person.fill(field);
    if (value !== undefined) content[field.name] = value;
  }
  return { action: 'accept', content };
}

/** Nothing is opened here: whether a link is to be trusted is for people to see first. */
async function confirmed(url: string, person: Person): Promise<Answer> {
  person.tell('Open this link to go on:');
  person.show(clean(url));
  return { action: (await person.agrees('Done?')) ? 'accept' : 'decline' };
}

type Person = ReturnType<typeof personAt>;

/** Somebody at a terminal, for the time of one question. */
function personAt({ input, output, paint, onInterrupt }: Desk, signal: AbortSignal) {
  const left = new AbortController();
  const over = AbortSignal.any([signal, left.signal]);
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  lines.on('SIGINT', () => onInterrupt());
  lines.on('close', () => left.abort(new Declined()));
  const columns = () => output.columns || 80;
  const write = (line: string) => output.write(`${line}\n`);

  const hear = (colour: 'yellow' | 'red', mark: string, text: string) => {
    const [first, ...rest] = wrap(clean(text), columns() - 3);
    write(`${paint(colour, mark)} ${paint('bold', first!)}`);
    for (const line of rest) write(`  ${paint('bold', line)}`);
  };
  const tell = (text: string) => {
    for (const line of wrap(text, columns() - 3)) write(`  ${paint('dim', line)}`);
  };
  const asked = (field: Field): Promise<string> => {
    const { label, hint, isRequired } = field;
    const fallback = shownFallback(field);
    const before = fallback === undefined ? (isRequired ? '' : ' []') : ` [${fallback}]`;
    const words = oneLine(label).replace(/:$/, '');
    const prompt = `${words}${hint === undefined ? '' : ` (${hint})`}${before}`;
    const end = /[?]$/.test(prompt) ? ' ' : ': ';
    // Half of a narrow terminal is left for the answer.
    const shown = truncate(oneLine(prompt), Math.max(10, columns() - 16));
    return lines.question(`  ${shown}${end}`, { signal: over }).catch((error: unknown) => {
      throw over.aborted ? over.reason : error;
    });
  };
  /** Asks again until the words mean something. */
  const fill = async (field: Field): Promise<Json | undefined> => {
    if (field.description !== undefined) tell(field.description);
    for (const [i, { title }] of field.choices.entries())
      write(truncate(`  ${i + 1}  ${title}`, columns() - 1));
    for (;;) {
      const read = field.read(await asked(field));
      if ('value' in read) return read.value;
      for (const line of wrap(read.problem, columns() - 5)) write(`    ${paint('red', line)}`);
    }
  };
  const agrees = async (prompt: string): Promise<boolean> => {
    const [field] = fieldsOf({ properties: { [prompt]: { type: 'boolean' } }, required: [prompt] });
    return (await fill(field!)) === true;
  };
  /** In one piece, however wide, so that it can be copied. */
  const show = (text: string) => write(`  ${text}`);
  return { hear, tell, show, fill, agrees, leave: () => lines.close() };
}

type Field = ReturnType<typeof fieldOf>;

interface Choice {
  readonly value: string;
  readonly title: string;
}

type Read = { readonly value: Json | undefined } | { readonly problem: string };

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
  const { hint, read } = meaningOf(property, choices);
  return {
    name,
    label: oneLine(typeof title === 'string' ? title : name),
    /** What may be said, in short: `y/n`, `1 to 10`. */
    hint,
    description: typeof description === 'string' ? oneLine(description) : undefined,
    choices,
    isRequired,
    fallback,
    /** The value, or what is wrong with the words. */
    read: (words: string): Read => {
      const said = words.trim();
      if (said !== '') return read(said);
      if (fallback !== undefined) return { value: fallback };
      return isRequired ? { problem: 'It is required.' } : { value: undefined };
    },
  };
}

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

/** How the value that is taken without any words is shown. */
export function shownFallback({ fallback, choices }: Field): string | undefined {
  if (fallback === undefined) return undefined;
  if (typeof fallback === 'boolean') return fallback ? 'y' : 'n';
  const titleOf = (value: Json) =>
    choices.find((choice) => choice.value === value)?.title ?? oneLine(String(value));
  return Array.isArray(fallback) ? fallback.map(titleOf).join(', ') : titleOf(fallback as Json);
}

// --- What words mean --------------------------------------------------------------------------------------

interface Meaning {
  readonly hint: string | undefined;
  readonly read: (said: string) => Read;
}

function meaningOf(property: JsonObject, choices: readonly Choice[]): Meaning {
  const { type, format } = property;
  const count = choices.length;
  if (type === 'array')
    return {
      hint: `some of 1 to ${count}, with commas`,
      read: (said) => readSome(said, property, choices),
    };
  if (count > 0) return { hint: `1 to ${count}`, read: (said) => readChoice(said, choices) };
  switch (type) {
    case 'boolean':
      return { hint: 'y/n', read: readYesOrNo };
    case 'integer':
    case 'number':
      return { hint: rangeOf(property), read: (said) => readNumber(said, property) };
    case 'string':
    case undefined:
      return { hint: formats[String(format)]?.hint, read: (said) => readText(said, property) };
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

function readYesOrNo(said: string): Read {
  const value = { y: true, yes: true, true: true, n: false, no: false, false: false }[said.toLowerCase()];
  return value === undefined ? { problem: 'Say y or n.' } : { value };
}

function readNumber(said: string, { type, minimum, maximum }: JsonObject): Read {
  const value = Number(said);
  if (!Number.isFinite(value)) return { problem: `${oneLine(said)} is no number.` };
  if (type === 'integer' && !Number.isInteger(value)) return { problem: 'It must be a whole number.' };
  if (typeof minimum === 'number' && value < minimum) return { problem: `It must be at least ${minimum}.` };
  if (typeof maximum === 'number' && value > maximum) return { problem: `It must be at most ${maximum}.` };
  return { value };
}

function readText(said: string, { minLength, maxLength, pattern, format }: JsonObject): Read {
  const { length } = [...said];
  if (typeof minLength === 'number' && length < minLength)
    return { problem: `It must have at least ${minLength} characters.` };
  if (typeof maxLength === 'number' && length > maxLength)
    return { problem: `It must have at most ${maxLength} characters.` };
  if (typeof pattern === 'string' && !fits(said, pattern))
    return { problem: `It must fit ${oneLine(pattern)}.` };
  const known = formats[String(format)];
  return known && !known.fits(said) ? { problem: `It must be ${known.hint}.` } : { value: said };
}

/** A pattern that is none is for the server to judge. */
function fits(said: string, pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(said);
  } catch {
    return true;
  }
}

const formats: Readonly<Record<string, { readonly hint: string; fits(said: string): boolean }>> = {
  email: { hint: 'an e-mail address', fits: (said) => /^[^\s@]+@[^\s@]+$/.test(said) },
  uri: { hint: 'a URL', fits: (said) => URL.canParse(said) },
  date: {
    hint: 'a date such as 2026-07-28',
    fits: (said) => /^\d{4}-\d\d-\d\d$/.test(said) && !Number.isNaN(Date.parse(said)),
  },
  'date-time': {
    hint: 'a time such as 2026-07-28T12:00:00Z',
    fits: (said) => /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(said) && !Number.isNaN(Date.parse(said)),
  },
};

/** By its number, its value or its title. */
function chosen(said: string, choices: readonly Choice[]): string | undefined {
  const same = (word: string) => word.toLowerCase() === said.toLowerCase();
  const named = choices.find(({ value }) => value === said) ?? choices.find(({ title }) => same(title));
  return (named ?? (/^\d+$/.test(said) ? choices[Number(said) - 1] : undefined))?.value;
}

function readChoice(said: string, choices: readonly Choice[]): Read {
  const value = chosen(said, choices);
  return value === undefined
    ? { problem: `${oneLine(said)} is none of the choices: say a number from 1 to ${choices.length}.` }
    : { value };
}

function readSome(said: string, { minItems, maxItems }: JsonObject, choices: readonly Choice[]): Read {
  const words = said.split(',').map((word) => word.trim());
  const values = words.map((word) => (choices.length > 0 ? chosen(word, choices) : word));
  const wrong = words[values.indexOf(undefined)];
  if (wrong !== undefined) return { problem: `${oneLine(wrong)} is none of the choices.` };
  const picked = [...new Set(values as string[])];
  if (typeof minItems === 'number' && picked.length < minItems)
    return { problem: `Choose at least ${minItems}.` };
  if (typeof maxItems === 'number' && picked.length > maxItems)
    return { problem: `Choose at most ${maxItems}.` };
  return { value: picked };
}

function readJsonValue(said: string): Read {
  try {
    return { value: JSON.parse(said) };
  } catch {
    return { problem: 'It must be JSON.' };
  }
}
