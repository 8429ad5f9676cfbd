/** The content of a tool's value as MCP content types. Anything else is data. */
import { isJsonObject, type Json, type JsonObject } from '../../../src/model/json.ts';
import { redacted } from '../../../src/model/redaction.ts';
import { looksLikeMarkdown } from './markdown.ts';

export type ContentBlock =
  | { readonly type: 'text'; readonly text: string; readonly form: TextForm }
  | { readonly type: 'image'; readonly mimeType: string; readonly data: string }
  | { readonly type: 'audio'; readonly mimeType: string; readonly data: string }
  | {
      readonly type: 'resource';
      readonly uri: string;
      readonly mimeType?: string;
      readonly inside: ContentBlock;
    }
  | {
      readonly type: 'link';
      readonly uri: string;
      readonly name: string;
      readonly description?: string;
      readonly mimeType?: string;
      readonly size?: number;
    }
  | { readonly type: 'message'; readonly role: string; readonly blocks: readonly ContentBlock[] }
  | { readonly type: 'file'; readonly mimeType: string; readonly data: string }
  | { readonly type: 'data'; readonly value: Json }
  | { readonly type: 'hidden' };

export type TextForm = 'plain' | 'markdown' | 'json';

/** The parts of a result in reading order. */
export interface Rendered {
  readonly blocks: readonly ContentBlock[];
  readonly structured?: Json;
}

/** Splits a result of a tool, resource or prompt into blocks. Any other value is one block of data. */
export function renderedValue(value: Json): Rendered {
  if (value === redacted) return { blocks: [{ type: 'hidden' }] };
  if (!isJsonObject(value)) return { blocks: [typeof value === 'string' ? textBlock(value) : data(value)] };
  const { content, contents, messages, structuredContent } = value;
  const list = [content, contents, messages].find(Array.isArray) as readonly Json[] | undefined;
  if (!list && content !== redacted) return { blocks: [data(value)] };
  const blocks = list ? list.map(blockOf) : [{ type: 'hidden' } as const];
  if (structuredContent === undefined) return { blocks };
  // Our tools repeat structured content as text, for clients that support only text.
  return {
    blocks: blocks.filter((block) => !repeats(block, structuredContent)),
    structured: structuredContent,
  };
}

function repeats(block: ContentBlock, structured: Json): boolean {
  if (block.type !== 'text' || block.form !== 'json') return false;
  return JSON.stringify(JSON.parse(block.text)) === JSON.stringify(structured);
}

export function blockOf(block: Json): ContentBlock {
  if (block === redacted) return { type: 'hidden' };
  if (!isJsonObject(block)) return data(block);
  const { type, text, data: bytes, mimeType, resource, uri, role, content } = block;
  if (type === 'text' && typeof text === 'string') return textBlock(text);
  if ((type === 'image' || type === 'audio') && typeof bytes === 'string')
    return { type, data: bytes, mimeType: typeof mimeType === 'string' ? mimeType : '' };
  if (type === 'resource' && isJsonObject(resource)) return resourceOf(resource);
  if (type === 'resource_link' && typeof uri === 'string') return linkOf(block, uri);
  if (typeof role === 'string' && content !== undefined)
    return { type: 'message', role, blocks: (Array.isArray(content) ? content : [content]).map(blockOf) };
  if (type === undefined && typeof uri === 'string') return resourceOf(block);
  return data(block);
}

function textBlock(text: string, mimeType?: string): ContentBlock {
  return text === redacted ? { type: 'hidden' } : { type: 'text', text, form: formOf(text, mimeType) };
}

function formOf(text: string, mimeType: string | undefined): TextForm {
  const type = mimeType?.replace(/;.*/, '').trim().toLowerCase();
  if (type === 'text/markdown') return 'markdown';
  if ((type === undefined || /\bjson$/.test(type)) && isJsonText(text)) return 'json';
  return type === undefined && looksLikeMarkdown(text) ? 'markdown' : 'plain';
}

function isJsonText(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function resourceOf({ uri, mimeType, text, blob }: JsonObject): ContentBlock {
  const type = typeof mimeType === 'string' ? mimeType : undefined;
  const bytes = (mime: string, base64: string): ContentBlock =>
    mime.startsWith('image/')
      ? { type: 'image', mimeType: mime, data: base64 }
      : mime.startsWith('audio/')
        ? { type: 'audio', mimeType: mime, data: base64 }
        : { type: 'file', mimeType: mime, data: base64 };
  const inside =
    typeof text === 'string'
      ? textBlock(text, type)
      : typeof blob === 'string'
        ? bytes(type ?? 'application/octet-stream', blob)
        : data({ ...(text !== undefined && { text }), ...(blob !== undefined && { blob }) });
  return { type: 'resource', uri: String(uri ?? ''), ...(type && { mimeType: type }), inside };
}

function linkOf(block: JsonObject, uri: string): ContentBlock {
  const { name, title, description, mimeType, size } = block;
  return {
    type: 'link',
    uri,
    name: [title, name].find((word) => typeof word === 'string') ?? uri,
    ...(typeof description === 'string' && { description }),
    ...(typeof mimeType === 'string' && { mimeType }),
    ...(typeof size === 'number' && { size }),
  };
}

function data(value: Json): ContentBlock {
  return { type: 'data', value };
}
