/** What commands print on stdout: JSON for programs, results as text for people. */
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { clean } from './views/terminal-text.ts';

/** Characters that control terminals or change the text direction, and that `JSON.stringify` does not escape. */
const controlCharacters = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** JSON that is safe to print on a terminal. */
export function jsonText(value: unknown, indent?: number): string {
  return escaped(JSON.stringify(value, undefined, indent));
}

/** The same JSON with control characters escaped. They can only occur in strings. */
export function escaped(json: string): string {
  return json.replace(controlCharacters, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function printJson(value: unknown): void {
  console.log(jsonText(value));
}

/** Prints an error result to stderr, and any other result to stdout. */
export function printResult(result: JsonObject): void {
  const text = textOf(result);
  if (result.isError) console.error(errorTextOf(result));
  else if (text !== '') console.log(text);
}

export function errorTextOf(result: JsonObject): string {
  return textOf(result) || 'The tool failed without a message.';
}

/** The text of a result, or its structured content as JSON if there is no text. May be empty. */
export function textOf(result: JsonObject): string {
  const { content, contents, messages, structuredContent } = result;
  const parts = [content, contents, messages].flatMap((list) => (Array.isArray(list) ? list : []));
  const texts = parts.map(partOf).filter((text) => text !== '');
  if (texts.length > 0) return clean(texts.join('\n'));
  return structuredContent === undefined ? '' : clean(JSON.stringify(structuredContent, undefined, 2));
}

/** The text of one content block, or a short description of its data. */
function partOf(part: Json): string {
  if (!isJsonObject(part)) return '';
  const { type, text, resource, data, blob, mimeType, uri, role, content } = part;
  if (typeof text === 'string') return text;
  if (isJsonObject(resource)) return partOf(resource);
  if (isJsonObject(content)) return `${role}: ${partOf(content)}`;
  if (type === 'resource_link') return String(uri);
  const bytes = data ?? blob;
  if (typeof bytes !== 'string') return '';
  // Four characters of base64 are three bytes.
  return `[${mimeType ?? type ?? 'data'}, ${Math.floor((bytes.length * 3) / 4)} bytes]`;
}
