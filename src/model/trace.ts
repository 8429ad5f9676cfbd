/** Trace contexts as W3C Trace Context writes them, and where the trace of a task stands in them. */
import { runtime } from '../runtime/runtime.ts';

/** Where a trace goes on from a task. */
export interface TaskTrace {
  /** The task's own span; before the task is made, and where nobody makes spans, the span of its caller. */
  readonly traceparent: string;
  readonly tracestate?: string;
  /** The span above the task's own, sixteen zeros if there is none; absent if the task has no span to be exported. */
  readonly parent?: string;
}

export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

export const noSpan = '0'.repeat(16);
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** As many as everyone must pass on. */
const longestState = 512;

/** Undefined if it is not well-formed: then there is no trace to go on with. */
export function parseTraceParent(text: unknown): TraceParent | undefined {
  if (typeof text !== 'string' || text.length > longestState) return undefined;
  const [, version, traceId, spanId, flags, rest] = form.exec(text) ?? [];
  // Later versions may say more after what is known; this one says nothing more.
  if (version === undefined || (version === '00' && rest !== undefined)) return undefined;
  return { traceId: traceId!, spanId: spanId!, flags: Number.parseInt(flags!, 16) };
}

export function formatTraceParent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${(flags & 1).toString(16).padStart(2, '0')}`;
}

/** The caller's trace, if what it sent is one; a state that cannot be passed on is left out. */
export function callersTrace(traceparent: unknown, tracestate: unknown): TaskTrace | undefined {
  const parsed = parseTraceParent(traceparent);
  if (!parsed) return undefined;
  const isState =
    typeof tracestate === 'string' && tracestate.length <= longestState && /^[\x20-\x7e]+$/.test(tracestate);
  return { traceparent: formatTraceParent(parsed), ...(isState && { tracestate }) };
}

/** A subtask has a span of its own below the one that started it. Without one its parent's stands for both. */
export function subtasksTrace(trace: TaskTrace): TaskTrace {
  const above = trace.parent === undefined ? undefined : parseTraceParent(trace.traceparent);
  if (!above) return trace;
  return {
    ...trace,
    traceparent: formatTraceParent({ ...above, spanId: newSpanId() }),
    parent: newSpanId(),
  };
}

function newSpanId(): string {
  const bytes = runtime.randomBytes(8);
  bytes[0]! |= 1; // Never all zeros, which stands for no span.
  return bytes.toString('hex');
}
