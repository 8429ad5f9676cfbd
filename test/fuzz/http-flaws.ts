/** What can be wrong around a message: headers that do not say what it says, and HTTP that is not for this server. */
import fc, { type Arbitrary } from 'fast-check';
import { protocolVersionKey, revision } from '../../src/protocol/dialects/2026-07-28/names.ts';
import { type Draft, type Flaw, type Outcome, put } from './draft.ts';
import { otherRevisions } from './flaws.ts';
import { oddText } from './junk.ts';
import type { Method } from './methods.ts';
import { headerMismatch, unsupportedVersion } from './oracle.ts';
import type { Header } from './requests.ts';

export function around(
  label: string,
  outcome: Outcome | undefined,
  spoil: (draft: Draft) => void,
  rows: readonly string[] = [],
): Flaw {
  return { label, layer: 'http', outcome, spoil, rows };
}

export function replace(draft: Draft, name: string, values: readonly string[]): void {
  const others = draft.headers.filter(([one]) => one !== name);
  draft.headers = [...others, ...values.map((value): Header => [name, value])];
}

export function header(
  name: string,
  values: readonly string[],
  outcome: Outcome | undefined,
  rows: readonly string[] = [],
): Flaw {
  const shown = values.length === 0 ? 'missing' : values.map((value) => value.slice(0, 60)).join(' and ');
  return around(`${name}: ${shown}`, outcome, (draft) => replace(draft, name, values), rows);
}

// --- Headers that repeat what the body says ---------------------------------------------------------------

const disagrees: Outcome = { codes: [headerMismatch], words: /headers and body disagree/ };

/** Left out, different, or there twice. */
function mirrored(name: string, others: Arbitrary<string>): Arbitrary<Flaw>[] {
  const row = ['S2026-12'];
  const twice = (other: string) =>
    around(
      `${name} also ${other.slice(0, 60)}`,
      disagrees,
      ({ headers }) => headers.push([name, other]),
      row,
    );
  return [
    fc.constant(header(name, [], disagrees, row)),
    others.map((value) => header(name, [value], disagrees, row)),
    others.map(twice),
  ];
}

/** Visible ASCII, as a header may carry it. */
const token: Arbitrary<string> = fc.oneof(
  fc.constantFrom('x', 'tools/call', 'TASKS/GET', 'toString', '__proto__'),
  fc.constantFrom('=?base64?@@@?=', '=?base64?eA==?=', '=?base64?', '=?BASE64?eA==?='),
  fc.stringMatching(/^[!-~]{1,40}$/),
);

export function mirrorFlaws({ base }: Method): Arbitrary<Flaw>[] {
  const { method } = base.message;
  const flaws = mirrored(
    'Mcp-Method',
    token.filter((value) => value !== method),
  );
  const hasName = method === 'tools/call' || /^tasks\//.test(method);
  return hasName ? [...flaws, ...mirrored('Mcp-Name', token)] : flaws;
}

/** The revision in the header, or in both places. */
export const revisionHeaderFlaws: readonly Arbitrary<Flaw>[] = [
  ...mirrored(
    'MCP-Protocol-Version',
    fc.constantFrom('2025-11-25', '2099-01-01', 'x', `${revision}x`, 'toString'),
  ),
  otherRevisions.map((value) => inBody(value, disagrees)),
  otherRevisions.map((value) => {
    // What a header cannot carry as it is arrives as something else.
    const codes = value.trim() === value && value !== '' ? [] : [headerMismatch];
    const { label, spoil } = inBody(value, undefined);
    const both = (draft: Draft) => {
      spoil(draft);
      replace(draft, 'MCP-Protocol-Version', [value]);
    };
    return around(`${label} and in the header`, { codes: [unsupportedVersion, ...codes] }, both, [
      'S2026-03',
    ]);
  }),
];

function inBody(value: string, outcome: Outcome | undefined): Flaw {
  return around(`revision ${value}`, outcome, ({ message }) =>
    put(message, ['params', '_meta', protocolVersionKey], value),
  );
}

// --- HTTP that is not for this server ---------------------------------------------------------------------

const foreignHosts = fc.constantFrom(
  ...['evil.example', 'evil.example:80', 'localhost.evil.example', '127.0.0.1.evil.example', 'localhost.'],
  ...['0.0.0.0', '[::2]', '::1', ' ', 'a b', '127.0.0.1:99999', 'evil.example@127.0.0.1'],
);
const foreignOrigins = fc.constantFrom(
  ...['https://evil.example', 'http://localhost.evil.example', 'http://127.0.0.1@evil.example'],
  ...['null', 'x', 'http://', 'blob:x', '//localhost', 'chrome-extension://abc'],
);
const wrongTypes = fc.constantFrom(
  ...['text/plain', 'text/html', 'application/jsonx', 'application/x-www-form-urlencoded', 'json', '*/*'],
  ...['application/json-rpc', 'multipart/form-data; boundary=application/json', ';', 'application/json/x'],
);
const otherPaths = fc.constantFrom(
  '/',
  '/mcp/',
  '/MCP',
  '//mcp',
  '/mcp/..',
  '/%6dcp',
  '/mcpx',
  '/.well-known',
);

/** Whatever the revision. */
export const notForHere: readonly Arbitrary<Flaw>[] = [
  foreignHosts.map((host) => header('Host', [host], { statuses: [400, 403] })),
  foreignOrigins.map((origin) => header('Origin', [origin], { statuses: [403] })),
  foreignOrigins.map((origin) => header('Origin', ['http://localhost', origin], { statuses: [403] })),
  wrongTypes.map((type) => header('Content-Type', [type], { statuses: [415] })),
  fc.constant(header('Content-Type', [], { statuses: [415] })),
  otherPaths.map((path) =>
    around(path, { statuses: [404] }, (draft) => {
      draft.path = path;
    }),
  ),
  // None of these is wrong.
  fc
    .constantFrom('application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json ;x=1')
    .map((type) => header('Content-Type', [type], undefined)),
  fc
    .constantFrom('http://localhost', 'http://127.0.0.1:7420', 'http://[::1]')
    .map((origin) => header('Origin', [origin], undefined)),
];

export function otherMethods(more: readonly string[] = []): Arbitrary<Flaw> {
  const methods = fc.constantFrom('PUT', 'PATCH', 'OPTIONS', 'PROPFIND', 'QUERY', 'HEAD', 'TRACE', ...more);
  return methods.map((method) =>
    around(method, { statuses: [405, 501] }, (draft) => {
      draft.httpMethod = method;
    }),
  );
}

export const httpFlaws: readonly Arbitrary<Flaw>[] = [
  ...notForHere,
  otherMethods(['GET', 'DELETE']),
  // Neither is this.
  oddText.map((text) => header('Accept', [text.replace(/[^ -~]/g, '')], undefined)),
  fc
    .constantFrom('text/html', 'application/json;q=0', '*/*')
    .map((type) => header('Accept', [type], undefined)),
];
