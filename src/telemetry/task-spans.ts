/**
 * Spans that outlive processes. The span of a task is known by its id from the task's first commit on, and is exported
 * by whichever process ends the task: a process that is killed takes no span with it that others hang on.
 *
 * The API of OpenTelemetry has no way to say under which id a span is to be made. Where its own SDK is at work the
 * context that a span gives out is the one that it is exported with, and is given its ids here. Where it is not (other
 * vendors' implementations), the span of a task is exported when the task is made, and says nothing about its end.
 */
import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { formatTraceParent, noSpan, parseTraceParent, type TaskTrace } from '../model/trace.ts';

/** The context that a trace goes on in; undefined if there is none. */
export function contextOf(task: TaskTrace | undefined): Context | undefined {
  const spanContext = task && spanContextOf(task);
  return spanContext && trace.setSpanContext(ROOT_CONTEXT, spanContext);
}

function spanContextOf({ traceparent, tracestate }: TaskTrace): SpanContext | undefined {
  const parsed = parseTraceParent(traceparent);
  if (!parsed) return undefined;
  const { traceId, spanId, flags } = parsed;
  return {
    traceId,
    spanId,
    traceFlags: flags & 1,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  };
}

/** The trace of a task as it is stored, below the given span. */
export function traceOf(own: SpanContext, parent?: string): TaskTrace {
  const { traceId, spanId, traceFlags: flags } = own;
  const tracestate = own.traceState?.serialize();
  return {
    traceparent: formatTraceParent({ traceId, spanId, flags }),
    ...(tracestate && { tracestate }),
    ...(parent !== undefined && { parent }),
  };
}

/** Whether a span can be given an id, and have its parent taken away. */
export function takesIds(span: Span): boolean {
  const given = span.spanContext();
  const { spanId } = given;
  try {
    given.spanId = noSpan;
    const isTaken = span.spanContext().spanId === noSpan;
    given.spanId = spanId;
    return isTaken && 'parentSpanContext' in span;
  } catch {
    return false;
  }
}

export interface PastSpan extends SpanOptions {
  readonly name: string;
  readonly from: number;
  readonly until: number;
  readonly failed?: boolean;
}

/** Exports the own span of a task, in whichever process it was made; and above it, for subtasks, the start. */
export function exportTask(
  tracer: Tracer,
  task: TaskTrace,
  past: PastSpan,
  start?: { readonly name: string; readonly below: TaskTrace },
): void {
  const own = spanContextOf(task);
  if (!own || task.parent === undefined) return;
  const above = { ...own, spanId: task.parent };
  exportAs(tracer, own, task.parent === noSpan ? undefined : above, past);
  const below = start && spanContextOf(start.below);
  if (below) exportAs(tracer, above, below, { name: start.name, from: past.from, until: past.from });
}

function exportAs(
  tracer: Tracer,
  own: SpanContext,
  parent: SpanContext | undefined,
  { name, from, until, failed = false, ...options }: PastSpan,
): void {
  // Without a parent it is made below itself, so that it belongs to its trace and is sampled as that is.
  const above = { ...(parent ?? own) };
  const span = tracer.startSpan(
    name,
    { ...options, startTime: new Date(from) },
    trace.setSpanContext(ROOT_CONTEXT, above),
  );
  if (!span.isRecording()) return;
  if (takesIds(span)) {
    span.spanContext().spanId = own.spanId;
    if (!parent) above.spanId = '';
  }
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(new Date(until));
}
