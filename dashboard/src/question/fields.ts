/**
 * The fields of a question's form: which control each gets, what stands in it at first, and what it means. Whether a
 * value fits is judged by the same rules as on the server, so that nothing is refused there that was let through here.
 */
import { answerProblem } from '../../../src/model/answer.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../src/model/json.ts';

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly description?: string;
  /** What may be said, in short: `1 to 10`. */
  readonly hint?: string;
  readonly isRequired: boolean;
  readonly control: Control;
  readonly schema: JsonObject;
}

export type Control =
  | { readonly type: 'text'; readonly input: 'text' | 'email' | 'url' | 'date'; readonly maxLength?: number }
  | { readonly type: 'long-text' }
  | { readonly type: 'moment' }
  | {
      readonly type: 'number';
      readonly isWhole: boolean;
      readonly minimum?: number;
      readonly maximum?: number;
    }
  | { readonly type: 'yes-no' }
  | { readonly type: 'one'; readonly choices: readonly Choice[] }
  | { readonly type: 'some'; readonly choices: readonly Choice[] }
  | { readonly type: 'json' };

export interface Choice {
  readonly value: Json;
  readonly title: string;
}

/** What a person has entered so far: the words in a control, or the numbers of the choices that are ticked. */
export type Entry = string | readonly number[];
export type Entries = Readonly<Record<string, Entry>>;

export function fieldsOf(schema: JsonObject): Field[] {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(properties).map(([name, given]) => {
    const property = isJsonObject(given) ? given : {};
    const { title, description } = property;
    const control = controlOf(property);
    const hint = hintOf(property, control);
    return {
      name,
      label: typeof title === 'string' && title.trim() !== '' ? title : name,
      ...(typeof description === 'string' && { description }),
      ...(hint && { hint }),
      isRequired: required.includes(name),
      control,
      schema: property,
    };
  });
}

function controlOf(property: JsonObject): Control {
  const { type, format, items, maxLength, minimum, maximum } = property;
  if (type === 'array') {
    const choices = isJsonObject(items) ? choicesOf(items) : [];
    return choices.length > 0 ? { type: 'some', choices } : { type: 'json' };
  }
  const choices = choicesOf(property);
  if (choices.length > 0) return { type: 'one', choices };
  switch (type) {
    case 'boolean':
      return { type: 'yes-no' };
    case 'integer':
    case 'number':
      return {
        type: 'number',
        isWhole: type === 'integer',
        ...(typeof minimum === 'number' && { minimum }),
        ...(typeof maximum === 'number' && { maximum }),
      };
    case 'string':
    case undefined:
      if (format === 'date-time') return { type: 'moment' };
      if (format === 'email' || format === 'date') return { type: 'text', input: format };
      if (format === 'uri') return { type: 'text', input: 'url' };
      if (typeof maxLength === 'number' && maxLength > 200) return { type: 'long-text' };
      return { type: 'text', input: 'text', ...(typeof maxLength === 'number' && { maxLength }) };
    default:
      return { type: 'json' };
  }
}

function choicesOf({ enum: values, enumNames, oneOf, anyOf }: JsonObject): Choice[] {
  const titled = oneOf ?? anyOf;
  if (Array.isArray(titled))
    return titled.flatMap((choice) =>
      isJsonObject(choice) && choice.const !== undefined
        ? [{ value: choice.const, title: String(choice.title ?? choice.const) }]
        : [],
    );
  if (!Array.isArray(values)) return [];
  const names = Array.isArray(enumNames) ? enumNames : [];
  return values.map((value: Json, i: number) => ({ value, title: String(names[i] ?? value) }));
}

function hintOf(schema: JsonObject, control: Control): string | undefined {
  const { minLength, maxLength, minItems, maxItems, pattern } = schema;
  switch (control.type) {
    case 'number':
      return range(control.minimum, control.maximum, control.isWhole ? 'A whole number' : 'A number');
    case 'some':
      return typeof minItems === 'number' || typeof maxItems === 'number'
        ? range(minItems, maxItems, 'Choose')
        : undefined;
    case 'json':
      return 'As JSON';
    case 'text':
    case 'long-text': {
      const length = range(minLength, maxLength, '');
      if (length !== '') return `${length[0]!.toUpperCase()}${length.slice(1)} characters`;
      // Beside a format the pattern is what a library makes of it, and nothing for people.
      return typeof pattern === 'string' && schema.format === undefined
        ? `In the form ${pattern}`
        : undefined;
    }
    default:
      return undefined;
  }
}

function range(least: Json | undefined, most: Json | undefined, noun: string): string {
  const words = (text: string) => `${noun} ${text}`.trim();
  if (typeof least === 'number' && typeof most === 'number')
    return noun === 'Choose' || noun === ''
      ? words(`${least} to ${most}`)
      : `${noun} from ${least} to ${most}`;
  if (typeof least === 'number') return words(`at least ${least}`);
  if (typeof most === 'number') return words(`at most ${most}`);
  return noun;
}

// --- From defaults to entries, from entries to an answer --------------------------------------------------

export function firstEntries(fields: readonly Field[]): Entries {
  return Object.fromEntries(fields.map((field) => [field.name, firstEntry(field)]));
}

function firstEntry({ control, schema }: Field): Entry {
  const preset = schema.default;
  if (control.type === 'one') {
    const at = control.choices.findIndex(({ value }) => value === preset);
    return at < 0 ? [] : [at];
  }
  if (control.type === 'some') {
    const chosen: readonly Json[] = Array.isArray(preset) ? preset : [];
    return control.choices.flatMap(({ value }, i) => (chosen.includes(value) ? [i] : []));
  }
  if (preset === undefined || preset === null) return '';
  if (control.type === 'json') return JSON.stringify(preset, null, 2);
  if (control.type === 'moment') return localMoment(String(preset));
  return String(preset);
}

/** A moment as the control of browsers has it, in the reader's own time zone; what is no moment is not taken. */
function localMoment(text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return '';
  const date = new Date(ms);
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export interface Problem {
  readonly name: string;
  readonly label: string;
  readonly message: string;
}

export type Read =
  | { readonly content: JsonObject; readonly problems?: undefined }
  | { readonly problems: readonly Problem[] };

/** The content of an answer, or everything that is wrong with it. What is optional and empty is left out. */
export function readEntries(fields: readonly Field[], entries: Entries): Read {
  const problems: Problem[] = [];
  const content: [string, Json][] = [];
  for (const field of fields) {
    const { name, label } = field;
    const read = readEntry(field, entries[name] ?? '');
    if ('problem' in read) problems.push({ name, label, message: read.problem });
    else if (read.value !== undefined) content.push([name, read.value]);
  }
  return problems.length > 0 ? { problems } : { content: Object.fromEntries(content) };
}

type ReadEntry = { readonly value: Json | undefined } | { readonly problem: string };

export function readEntry(field: Field, entry: Entry): ReadEntry {
  const isEmpty = entry.length === 0;
  if (isEmpty && field.isRequired && !acceptsNothing(field)) return { problem: requiredMessage(field) };
  if (isEmpty && !(field.isRequired && acceptsNothing(field))) return { value: undefined };
  const read = meaningOf(field, entry);
  if ('problem' in read) return read;
  const problem = problemOf(field, read.value!);
  return problem ? { problem } : read;
}

/** A list that may be empty is answered by ticking nothing. */
function acceptsNothing({ control, schema }: Field): boolean {
  return control.type === 'some' && !(typeof schema.minItems === 'number' && schema.minItems > 0);
}

function requiredMessage({ control }: Field): string {
  if (control.type === 'one' || control.type === 'yes-no') return 'Choose one.';
  return control.type === 'some' ? 'Choose at least one.' : 'This is required.';
}

function meaningOf({ control }: Field, entry: Entry): ReadEntry {
  switch (control.type) {
    case 'one':
      return { value: control.choices[Number(entry[0])]?.value };
    case 'some':
      return { value: [...entry].map((i) => control.choices[Number(i)]!.value) };
    case 'yes-no':
      return { value: entry === 'true' };
    case 'number': {
      const number = Number(String(entry).trim());
      return Number.isFinite(number) ? { value: number } : { problem: 'This is not a number.' };
    }
    case 'moment': {
      const ms = Date.parse(String(entry));
      return Number.isNaN(ms)
        ? { problem: 'This is not a date with a time.' }
        : { value: new Date(ms).toISOString() };
    }
    case 'json':
      try {
        return { value: JSON.parse(String(entry)) as Json };
      } catch {
        return { problem: 'This is not JSON: check quotes and commas.' };
      }
    default:
      return { value: String(entry) };
  }
}

function problemOf({ name, schema }: Field, value: Json): string | undefined {
  const alone = { type: 'object', properties: { [name]: schema } };
  const request = { kind: 'form', message: '', schema: alone } as const;
  const problem = answerProblem(request, { action: 'accept', content: { [name]: value } });
  if (problem) return `This ${problem.slice(name.length + 3)}.`;
  const { pattern, format } = schema;
  if (typeof value !== 'string' || typeof pattern !== 'string' || fits(value, pattern)) return undefined;
  return format === undefined
    ? `This must have the form ${pattern}.`
    : `This is not written as the tool wants its ${formatNames[String(format)] ?? format}.`;
}

const formatNames: Readonly<Record<string, string>> = {
  email: 'e-mail addresses',
  uri: 'addresses',
  date: 'dates',
  'date-time': 'moments',
};

/** A pattern that is none is for the server to judge; one that a long text could make endless is not tried on it. */
function fits(value: string, pattern: string): boolean {
  if (value.length > 1_000) return true;
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}
