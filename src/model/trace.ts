/** W3C Trace Context, and the trace context of a task. */
import { runtime } from '../runtime/runtime.ts';

/** The trace context of a task: the parent of the spans that continue its trace. */
export interface TaskTrace {
  /** The task's own span. The caller's span before the task is created, or if no telemetry creates spans. */
  readonly traceparent: string;
  readonly tracestate?: string;
  /** The parent of the task's own span; sixteen zeros if it has none. Absent if the task has no span of its own. */
  readonly parent?: string;
}

export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: number;
}

export const noSpan = '0'.repeat(16);
const form = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Maximum length of a tracestate, in characters: the length that every participant must support. */
const maxStateLength = 512;

/** Undefined if the text is not a valid traceparent. */
export function parseTraceParent(text: unknown): TraceParent | undefined {
  if (typeof text !== 'string' || text.length > maxStateLength) return undefined;
  const [, version, traceId, spanId, flags, rest] = form.exec(text) ?? [];
  // Later versions may add fields at the end; version 00 has none.
  if (version === undefined || (version === '00' && rest !== undefined)) return undefined;
  return { traceId: traceId!, spanId: spanId!, flags: Number.parseInt(flags!, 16) };
}

/** Version 00, with only the flag "sampled". */
export function formatTraceParent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${(flags & 1).toString(16).padStart(2, '0')}`;
}

/** The caller's trace, or undefined if its traceparent is invalid. An invalid tracestate is dropped. */
export function callersTrace(traceparent: unknown, tracestate: unknown): TaskTrace | undefined {
  const parsed = parseTraceParent(traceparent);
  if (!parsed) return undefined;
  const isState =
    typeof tracestate === 'string' &&
    tracestate.length <= maxStateLength &&
    /^[\x20-\x7e]+$/.test(tracestate);
  return { traceparent: formatTraceParent(parsed), ...(isState && { tracestate }) };
}

/**
 * The trace of a subtask: a new span, whose parent is a new span for the start of the subtask. If the parent task has
 * no span of its own, the subtask gets the parent's trace unchanged.
 */
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
  bytes[0]! |= 1; // Never all zeros, which means no span.
  return bytes.toString('hex');
}
