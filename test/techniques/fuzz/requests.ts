/** Requests as a right client of 2026-07-28 sends them: what every bad message is made from. */
import {
  clientCapabilitiesKey,
  clientInfoKey,
  extension,
  protocolVersionKey,
  revision,
} from '../../../src/dialects/2026-07-28/names.ts';

/** Anything that JSON can say, in the form in which it is taken apart and put together wrongly. */
// biome-ignore lint/suspicious/noExplicitAny: bad messages have no shape.
export type Loose = any;

export type Header = readonly [name: string, value: string];

export const tasksDeclared = { extensions: { [extension]: {} } };
const allCapabilities = { ...tasksDeclared, elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

export function envelope(more: Loose = {}): Loose {
  return {
    [protocolVersionKey]: revision,
    [clientInfoKey]: { name: 'fuzz', version: '1.0.0' },
    [clientCapabilitiesKey]: structuredClone(allCapabilities),
    ...more,
  };
}

export function request(id: unknown, method: string, params: Loose = {}): Loose {
  return { jsonrpc: '2.0', id, method, params: { _meta: envelope(), ...params } };
}

export function headersFor(message: Loose): Header[] {
  const headers: Header[] = [
    ['Host', '127.0.0.1'],
    ['Content-Type', 'application/json'],
    ['Accept', 'application/json, text/event-stream'],
    ['MCP-Protocol-Version', revision],
  ];
  if (typeof message?.method === 'string') headers.push(['Mcp-Method', headerValue(message.method)]);
  const name = nameOf(message);
  if (typeof name === 'string') headers.push(['Mcp-Name', headerValue(name)]);
  return headers;
}

function nameOf(message: Loose): unknown {
  const { method, params } = message ?? {};
  if (method === 'tools/call' || method === 'prompts/get') return params?.name;
  return ['tasks/get', 'tasks/update', 'tasks/cancel'].includes(method) ? params?.taskId : undefined;
}

/** What a header cannot carry as it is travels in base64, as the protocol wants it. */
export function headerValue(text: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?');
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

const nesting = /"\u2021nested (\d+)\u2021"/g;

/** Stands for lists in lists, as deep as that, which no `JSON.stringify` could write. */
export function nested(levels: number): string {
  return `\u2021nested ${levels}\u2021`;
}

export function textOf(message: Loose): string {
  const text = JSON.stringify(message) ?? '';
  return text.replace(nesting, (_, levels) => '['.repeat(Number(levels)) + ']'.repeat(Number(levels)));
}
