import { describe, expect, test } from 'vitest';
import {
  type Answer,
  type Expected,
  invalidParams,
  judge,
  missingCapability,
  unsupportedVersion,
} from './oracle.ts';
import { type Loose, request } from './requests.ts';

const message = request('seven', 'tasks/get', { taskId: 'nobody' });
const says = 'There is no task nobody.';

function expecting(more: Partial<Expected> = {}): Expected {
  return {
    codes: new Set([invalidParams]),
    good: new Set(),
    words: [/no task/],
    isNotice: false,
    statuses: new Set(),
    mayBeCut: false,
    visible: ['mine'],
    ...more,
  };
}

function answered(said: Loose, status = 200): Answer {
  return { kind: 'answered', status, type: 'application/json', text: JSON.stringify(said) };
}

function refusal(
  error: Loose,
  { id = 'seven', status = 200 }: { id?: unknown; status?: number } = {},
): Answer {
  return answered({ jsonrpc: '2.0', id, error }, status);
}

function result(value: Loose, id: unknown = 'seven'): Answer {
  return answered({ jsonrpc: '2.0', id, result: value });
}

test('a refusal that fits has no problems', () => {
  expect(judge(message, expecting(), refusal({ code: invalidParams, message: says }))).toEqual([]);
});

const extensions = { 'io.modelcontextprotocol/tasks': {} };
const declare = { code: missingCapability, message: 'Declare the extension first.' };
const version = { code: unsupportedVersion, message: 'Unsupported protocol version: x' };

describe('a refusal is found wrong', () => {
  test.each<[string, Answer, RegExp]>([
    ['for another code', refusal({ code: -32600, message: says }, { status: 400 }), /code -32600/],
    ['for an internal error', refusal({ code: -32603, message: says }), /code -32603/],
    [
      'for a status that does not fit',
      refusal({ code: invalidParams, message: says }, { status: 404 }),
      /status 404/,
    ],
    ['for a status of 500', refusal({ code: invalidParams, message: says }, { status: 500 }), /status 500/],
    ['for another id', refusal({ code: invalidParams, message: says }, { id: 'eight' }), /the id is "eight"/],
    ['for no id', refusal({ code: invalidParams, message: says }, { id: null }), /the id is null/],
    ['for an empty message', refusal({ code: invalidParams, message: '' }), /does not say what was wrong/],
    ['for no message', refusal({ code: invalidParams }), /does not say what was wrong/],
    ['for words about nothing', refusal({ code: invalidParams, message: 'Internal error' }), /only says/],
    [
      'for words about something else',
      refusal({ code: invalidParams, message: 'Not a string.' }),
      /something else/,
    ],
    [
      'for a stack',
      refusal({ code: invalidParams, message: `${says}\n    at get (node:fs:1:2)` }),
      /its inside/,
    ],
    ['for a path', refusal({ code: invalidParams, message: `${says} See /home/x/y.` }), /its inside/],
    ['for a file', refusal({ code: invalidParams, message: says, data: 'store.ts:12' }), /its inside/],
    ['for no code', refusal({ message: says }), /code is undefined/],
    ['for a result beside it', answered({ jsonrpc: '2.0', id: 'seven', result: {}, error: {} }), /at once/],
    [
      'for another protocol',
      answered({ id: 'seven', error: { code: invalidParams, message: says } }),
      /JSON-RPC 2\.0/,
    ],
    [
      'for a page instead of JSON',
      { kind: 'answered', status: 200, type: 'text/html', text: '<p>' },
      /not JSON-RPC/,
    ],
    ['for a closed connection', { kind: 'closed' }, /closed without an answer/],
    ['for silence', { kind: 'nothing' }, /no answer/],
    ['for being accepted', { kind: 'answered', status: 202, text: '' }, /as a notice/],
    ['for a result', result({ resultType: 'complete' }), /taken for good \(complete\)/],
    ['for a result without a type', result({}), /taken for good \(untyped\)/],
  ])('%s', (_, answer, problem) => {
    expect(judge(message, expecting(), answer).join('\n')).toMatch(problem);
  });

  test('if it does not name the capability that is missing', () => {
    const expected = expecting({ codes: new Set([missingCapability]), words: [] });
    const right = { ...declare, data: { requiredCapabilities: { extensions } } };
    expect(judge(message, expected, refusal(right, { status: 400 }))).toEqual([]);
    for (const data of [
      undefined,
      {},
      { requiredCapabilities: {} },
      { requiredCapabilities: { extensions: {} } },
    ])
      expect(judge(message, expected, refusal({ ...declare, data }, { status: 400 }))).toHaveLength(1);
    expect(judge(message, expected, refusal(right)).join()).toMatch(/status 200 with code -32021/);
  });

  test('if it does not name the revisions that are served', () => {
    const expected = expecting({ codes: new Set([unsupportedVersion]), words: [] });
    const right = { ...version, data: { supported: ['2026-07-28'] } };
    expect(judge(message, expected, refusal(right, { status: 400 }))).toEqual([]);
    expect(judge(message, expected, refusal(version, { status: 400 }))).toHaveLength(1);
  });
});

describe('a good answer is found wrong', () => {
  const expected = expecting({ good: new Set(['task', 'isError', 'stream'] as const) });

  test.each<[string, Answer, RegExp]>([
    ['for another kind', result({ resultType: 'complete' }), /taken for good/],
    ['for another id', result({ resultType: 'task' }, 'eight'), /the id is "eight"/],
    [
      'for an error result without words',
      result({ isError: true, content: [{ text: ' ' }] }),
      /says nothing/,
    ],
    [
      'for a refusal that nobody expects',
      refusal({ code: -32601, message: 'Method not found' }, { status: 404 }),
      /code/,
    ],
  ])('%s', (_, answer, problem) => {
    expect(judge(message, expected, answer).join('\n')).toMatch(problem);
  });

  test('if it acknowledges a task that may not be seen, or another subscription', () => {
    const acknowledging = (taskIds: string[], id = 'seven') =>
      answered({
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { taskIds }, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
      });
    expect(judge(message, expected, acknowledging(['mine']))).toEqual([]);
    expect(judge(message, expected, acknowledging(['mine', 'theirs']))).toHaveLength(1);
    expect(judge(message, expected, acknowledging(['mine'], 'eight'))).toHaveLength(1);
  });
});
