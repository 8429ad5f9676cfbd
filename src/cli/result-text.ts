/** Results as text: what people can read of them, and a word for the rest. */
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import { clean } from './live/width.ts';

/** An error is printed where errors are, a result where results are. */
export function printResult(result: JsonObject): void {
  const text = textOf(result);
  if (result.isError) console.error(errorTextOf(result));
  else if (text !== '') console.log(text);
}

export function errorTextOf(result: JsonObject): string {
  return textOf(result) || 'The tool failed and did not say why.';
}

export function textOf(result: JsonObject): string {
  const { content, contents, messages, structuredContent } = result;
  const parts = [content, contents, messages].flatMap((list) => (Array.isArray(list) ? list : []));
  const texts = parts.map(partOf).filter((text) => text !== '');
  if (texts.length > 0) return clean(texts.join('\n'));
  return structuredContent === undefined ? '' : clean(JSON.stringify(structuredContent, undefined, 2));
}

function partOf(part: Json): string {
  if (!isJsonObject(part)) return '';
  const { type, text, resource, data, blob, mimeType, uri, role, content } = part;
  if (typeof text === 'string') return text;
  if (isJsonObject(resource)) return partOf(resource);
  if (isJsonObject(content)) return `${role}: ${partOf(content)}`;
  if (type === 'resource_link') return String(uri);
  const bytes = data ?? blob;
  if (typeof bytes !== 'string') return '';
  return `[${mimeType ?? type ?? 'data'}, ${Math.floor((bytes.length * 3) / 4)} bytes]`;
}
