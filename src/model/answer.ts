/**
 * Validates an answer against its question. Elicitation forms use the flat subset of JSON Schema that MCP allows: an
 * object of strings, numbers, booleans and choices (one or several). Values are never converted. A problem is returned
 * as a phrase that completes "the answer does not fit the question: …", and an answer that fits as undefined.
 */
import type { InputRequest, InputResponse } from './input.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';

export function answerProblem(request: InputRequest, response: InputResponse): string | undefined {
  if (!isJsonObject(response)) return 'it must be an object';
  switch (request.kind) {
    case 'form':
      return elicitationProblem(response) ?? formProblem(request.schema, response);
    case 'url':
      return elicitationProblem(response);
    case 'sampling':
      return samplingProblem(response);
    case 'roots':
      return rootsProblem(response);
  }
}

function elicitationProblem({ action }: InputResponse): string | undefined {
  if (action === 'accept' || action === 'decline' || action === 'cancel') return undefined;
  return '"action" must be "accept", "decline" or "cancel"';
}

function samplingProblem({ role, content, model }: InputResponse): string | undefined {
  if (role !== 'assistant' && role !== 'user') return '"role" must be "assistant" or "user"';
  if (typeof model !== 'string') return '"model" must be a string';
  const blocks = Array.isArray(content) ? content : [content];
  const fits =
    blocks.length > 0 && blocks.every((block) => isJsonObject(block) && typeof block.type === 'string');
  return fits ? undefined : '"content" must be a content block with a "type", or a list of them';
}

function rootsProblem({ roots }: InputResponse): string | undefined {
  const fits =
    Array.isArray(roots) && roots.every((root) => isJsonObject(root) && typeof root.uri === 'string');
  return fits ? undefined : '"roots" must be a list of objects with a "uri"';
}

function formProblem(schema: JsonObject, { action, content }: InputResponse): string | undefined {
  if (action !== 'accept') return undefined;
  if (!isJsonObject(content)) return '"content" must be an object';
  const required = Array.isArray(schema.required) ? schema.required : [];
  for (const name of required) {
    if (typeof name === 'string' && !Object.hasOwn(content, name)) return `"${name}" is missing`;
  }
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  for (const [name, value] of Object.entries(content)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const problem = isJsonObject(property) ? valueProblem(property, value) : undefined;
    if (problem) return `"${name}" ${problem}`;
  }
  return undefined;
}

function valueProblem(schema: JsonObject, value: Json): string | undefined {
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' ? stringProblem(schema, value) : 'must be a string';
    case 'number':
      return typeof value === 'number' ? numberProblem(schema, value) : 'must be a number';
    case 'integer':
      return Number.isInteger(value) ? numberProblem(schema, value as number) : 'must be a whole number';
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'array':
      return Array.isArray(value) ? choicesProblem(schema, value) : 'must be a list';
    default:
      return undefined;
  }
}

function numberProblem({ minimum, maximum }: JsonObject, value: number): string | undefined {
  const bound = violatedBound(value, minimum, maximum);
  return bound && `must be ${bound}`;
}

function violatedBound(amount: number, min: Json | undefined, max: Json | undefined): string | undefined {
  if (typeof min === 'number' && amount < min) return `at least ${min}`;
  if (typeof max === 'number' && amount > max) return `at most ${max}`;
  return undefined;
}

function stringProblem(schema: JsonObject, value: string): string | undefined {
  // JSON Schema counts code points, not UTF-16 units.
  const bound = violatedBound([...value].length, schema.minLength, schema.maxLength);
  if (bound) return `must have ${bound} characters`;
  const choices = choicesOf(schema);
  if (choices && !choices.includes(value)) return `must be one of ${listed(choices)}`;
  return typeof schema.format === 'string' ? formatProblem(schema.format, value) : undefined;
}

const dateForm = /^\d{4}-\d{2}-\d{2}$/;
const dateTimeForm = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

function formatProblem(format: string, value: string): string | undefined {
  switch (format) {
    case 'email':
      return /^[^\s@]+@[^\s@]+$/.test(value) ? undefined : 'must be an e-mail address';
    case 'uri':
      return URL.canParse(value) ? undefined : 'must be a URI';
    case 'date':
      return dateForm.test(value) && isRealDate(value) ? undefined : 'must be a date such as 2026-07-28';
    case 'date-time':
      return dateTimeForm.test(value) && isRealDate(value.slice(0, 10)) && !Number.isNaN(Date.parse(value))
        ? undefined
        : 'must be a date and time such as 2026-07-28T09:30:00Z';
    default:
      return undefined;
  }
}

/** False for the 30th of February, which `Date.parse` turns into a day in March. */
function isRealDate(date: string): boolean {
  const ms = Date.parse(date);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}

function choicesProblem(schema: JsonObject, values: readonly Json[]): string | undefined {
  const bound = violatedBound(values.length, schema.minItems, schema.maxItems);
  if (bound) return `must contain ${bound}`;
  if (new Set(values).size < values.length) return 'must not contain anything twice';
  const choices = isJsonObject(schema.items) ? choicesOf(schema.items) : undefined;
  if (choices?.length && !values.every((value) => choices.includes(value)))
    return `must contain only ${listed(choices)}`;
  return values.every((value) => typeof value === 'string') ? undefined : 'must contain only strings';
}

/** The allowed values, from `enum`, or from titled choices in `oneOf` or `anyOf`. */
function choicesOf(schema: JsonObject): readonly Json[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum;
  const titled = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(titled)) return undefined;
  return titled.flatMap((choice) =>
    isJsonObject(choice) && choice.const !== undefined ? [choice.const] : [],
  );
}

function listed(choices: readonly Json[]): string {
  return choices.map((choice) => JSON.stringify(choice)).join(', ');
}
