import { expect, test } from 'vitest';
import { callersTrace, noSpan, parseTraceParent, subtasksTrace } from './trace.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const span = '00f067aa0ba902b7';

test('a trace parent is read as it is written', () => {
  expect(parseTraceParent(`00-${trace}-${span}-01`)).toEqual({ traceId: trace, spanId: span, flags: 1 });
});

test('what a later version says after what is known is passed over', () => {
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
])('no trace goes on from %j', (text) => {
  expect(callersTrace(text, 'a=b')).toBeUndefined();
});

test.each([17, '', 'ü=1', 'a=\n', `a=${'x'.repeat(511)}`])('the state %j is not passed on', (state) => {
  expect(callersTrace(`00-${trace}-${span}-01`, state)).toEqual({ traceparent: `00-${trace}-${span}-01` });
});

test('a subtask has a span of its own, below that of its start, in the same trace and as sampled', () => {
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

test('where the task has no span of its own, its subtasks have none either', () => {
  const trace2 = { traceparent: `00-${trace}-${span}-01` };
  expect(subtasksTrace(trace2)).toBe(trace2);
});
