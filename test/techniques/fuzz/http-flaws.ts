/** What can be wrong around a message: headers that do not say what it says, and HTTP that is not for this server. */
import fc, { type Arbitrary } from 'fast-check';
import { revision } from '../../../src/dialects/2026-07-28/names.ts';
import {
  at,
  type Base,
  bad,
  type Draft,
  type Flaw,
  type Flaws,
  type Outcome,
  oneOf,
  type Values,
} from './draft.ts';
import { otherRevisions, version } from './flaws.ts';
import { oddText } from './junk.ts';
import type { Code } from './oracle.ts';
import type { Header } from './requests.ts';

/** The message is sent with another HTTP method, or to another path. */
export function sent(how: Partial<Draft>, outcome: Outcome): Flaw {
  const label = JSON.stringify(Object.values(how)).slice(0, 60);
  return { label, layer: 'http', outcome, spoil: (draft) => Object.assign(draft, how) };
}

/** A header with these values, in place of its own. */
export function header(name: string, values: string[], outcome?: Outcome, rows: string[] = []): Flaw {
  const shown = values.length === 0 ? 'missing' : values.join(' and ').slice(0, 100);
  const spoil = (draft: Draft) => {
    const others = draft.headers.filter(([one]) => one !== name);
    draft.headers = [...others, ...values.map((value): Header => [name, value])];
  };
  return { label: `${name}: ${shown}`, layer: 'http', outcome, spoil, rows };
}

export function headers(name: string, values: Values<string>, outcome?: Outcome): Arbitrary<Flaw> {
  return oneOf(values).map((value) => header(name, [value], outcome));
}

/** Both flaws at once, which come to something else. */
export function both(first: Flaw, second: Flaw, outcome: Outcome, ...rows: readonly string[]): Flaw {
  const spoil = (draft: Draft) => {
    first.spoil(draft);
    second.spoil(draft);
  };
  return { label: `${first.label} and ${second.label}`, layer: 'http', outcome, spoil, rows };
}

const disagrees: Outcome = { codes: ['headerMismatch'], words: /headers and body disagree/ };

/** Left out, different, or there twice. */
function mirrored(name: string, others: Arbitrary<string>): Arbitrary<Flaw>[] {
  const rows = ['S2026-12'];
  return [
    fc.constant(header(name, [], disagrees, rows)),
    others.map((value) => header(name, [value], disagrees, rows)),
    others.map((value) => ({
      ...header(name, ['its own', value], disagrees, rows),
      spoil: ({ headers }) => headers.push([name, value]),
    })),
  ];
}

/** Visible ASCII, as a header may carry it. */
const token: Arbitrary<string> = fc.oneof(
  fc.constantFrom('x', 'tools/call', 'TASKS/GET', 'toString', '__proto__'),
  fc.constantFrom('=?base64?@@@?=', '=?base64?eA==?=', '=?base64?', '=?BASE64?eA==?='),
  fc.stringMatching(/^[!-~]{1,40}$/),
);

export function mirrorFlaws({ message: { method } }: Base): Flaws {
  const others = token.filter((value) => value !== method);
  const hasName = method === 'tools/call' || /^tasks\//.test(method);
  return [...mirrored('Mcp-Method', others), ...(hasName ? mirrored('Mcp-Name', token) : [])];
}

/** The revision in the header, or in both places. */
export const revisionHeaderFlaws: Flaws = [
  ...mirrored(
    'MCP-Protocol-Version',
    fc.constantFrom('2025-11-25', '2099-01-01', 'x', `${revision}x`, 'toString'),
  ),
  bad(version, otherRevisions, disagrees),
  fc.constantFrom(...otherRevisions).map((value) => {
    // What a header cannot carry as it is arrives as something else.
    const codes: Code[] = value.trim() === value && value !== '' ? [] : ['headerMismatch'];
    const inHeader = header('MCP-Protocol-Version', [value]);
    const outcome: Outcome = { codes: ['unsupportedVersion', ...codes] };
    return both(at(version, value, undefined), inHeader, outcome, 'S2026-03');
  }),
];

const foreignHosts = [
  ...['evil.example', 'evil.example:80', 'localhost.evil.example', '127.0.0.1.evil.example', 'localhost.'],
  ...['0.0.0.0', '[::2]', '::1', ' ', 'a b', '127.0.0.1:99999', 'evil.example@127.0.0.1'],
];
const foreignOrigins = fc.constantFrom(
  ...['https://evil.example', 'http://localhost.evil.example', 'http://127.0.0.1@evil.example'],
  ...['null', 'x', 'http://', 'blob:x', '//localhost', 'chrome-extension://abc'],
);
const wrongTypes = [
  ...['text/plain', 'text/html', 'application/jsonx', 'application/x-www-form-urlencoded', 'json', '*/*'],
  ...['application/json-rpc', 'multipart/form-data; boundary=application/json', ';', 'application/json/x'],
];
const otherPaths = ['/', '/mcp/', '/MCP', '//mcp', '/mcp/..', '/%6dcp', '/mcpx', '/.well-known'];

/** Whatever the revision. */
export const notForHere: Flaws = [
  headers('Host', foreignHosts, { statuses: [400, 403] }),
  headers('Origin', foreignOrigins, { statuses: [403] }),
  foreignOrigins.map((origin) => header('Origin', ['http://localhost', origin], { statuses: [403] })),
  headers('Content-Type', wrongTypes, { statuses: [415] }),
  fc.constant(header('Content-Type', [], { statuses: [415] })),
  oneOf(otherPaths).map((path) => sent({ path }, { statuses: [404] })),
  // None of these is wrong.
  headers('Content-Type', ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json ;x=1']),
  headers('Origin', ['http://localhost', 'http://127.0.0.1:7420', 'http://[::1]']),
];

export function otherMethods(...more: readonly string[]): Arbitrary<Flaw> {
  const methods = fc.constantFrom('PUT', 'PATCH', 'OPTIONS', 'PROPFIND', 'QUERY', 'HEAD', 'TRACE', ...more);
  return methods.map((httpMethod) => sent({ httpMethod }, { statuses: [405, 501] }));
}

/** What a header can carry of a text. */
export const oddHeader: Arbitrary<string> = oddText.map((text) => text.replace(/[^ -~]/g, ''));

export const httpFlaws: Flaws = [
  ...notForHere,
  otherMethods('GET', 'DELETE'),
  // Neither is this.
  headers('Accept', oddHeader),
  headers('Accept', ['text/html', 'application/json;q=0', '*/*']),
];
