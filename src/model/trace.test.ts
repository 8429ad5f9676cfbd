import { expect, test } from 'vitest';
import { callersTrace, noSpan, parseTraceParent, subtasksTrace } from './trace.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const span = '00f067aa0ba902b7';

test('a traceparent is parsed', () => {
  expect(parseTraceParent(`00-${trace}-${span}-01`)).toEqual({ traceId: trace, spanId: span, flags: 1 });
});

test('additional fields of a later version are ignored', () => {
  expect(callersTrace(`cc-${trace}-${span}-01-what-the-future`, undefined)).toEqual({
    traceparent: `00-${trace}-${span}-01`,
  });
});

test.each([
  undefined,
  17,
  '',
  `00-${trace}-${span}`,
  `00-${trace}-${span}-01-more`,
  `ff-${trace}-${span}-01`,
  `00-${trace.toUpperCase()}-${span}-01`,
  `00-${'0'.repeat(32)}-${span}-01`,
  `00-${trace}-${noSpan}-01`,
  ` 00-${trace}-${span}-01`,
  `00-${trace}-${span}-01\n`,
  `cc-${trace}-${span}-01-${'x'.repeat(600)}`,
])('the traceparent %j is ignored', (text) => {
  expect(callersTrace(text, 'a=b')).toBeUndefined();
});

test.each([17, '', 'ü=1', 'a=\n', `a=${'x'.repeat(511)}`])('the tracestate %j is dropped', (state) => {
  expect(callersTrace(`00-${trace}-${span}-01`, state)).toEqual({ traceparent: `00-${trace}-${span}-01` });
});

test('a subtask has its own span below the span of its start, in the same trace, with the same sampling', () => {
  const above = { traceparent: `00-${trace}-${span}-01`, tracestate: 'a=b', parent: noSpan };
  const below = subtasksTrace(above);
  expect(below).toEqual({
    traceparent: expect.stringMatching(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`)),
    tracestate: 'a=b',
    parent: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
  const own = parseTraceParent(below.traceparent)!.spanId;
  expect(new Set([span, own, below.parent]).size).toBe(3);
});

test('if a task has no span of its own, neither do its subtasks', () => {
  const trace2 = { traceparent: `00-${trace}-${span}-01` };
  expect(subtasksTrace(trace2)).toBe(trace2);
});
