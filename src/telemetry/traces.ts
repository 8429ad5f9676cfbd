/**
 * One trace for each call: the task's span is a child of its caller's span; passes, steps, questions and subtasks are
 * below the task. Steps are only linked to their pass, because the span of a pass is lost if its process dies.
 * Spans never contain arguments, answers or results.
 */
import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { TaskEvent } from '../model/event.ts';
import type { InputRecord } from '../model/input.ts';
import { outcomeWord } from '../model/outcome.ts';
import type { Origin, Owner, Task } from '../model/task.ts';
import { isInstance, nameOf } from '../model/thrown.ts';
import { formatTraceParent, noSpan, parseTraceParent, type TaskTrace } from '../model/trace.ts';
import type { TaskWrite } from '../ports/change.ts';
import type { ObservedCall, ObservedPass } from '../ports/observer.ts';

/** The ends of passes that count as errors. */
const failedEnds: ReadonlySet<string> = new Set(['changed', 'lost', 'superseded']);

export class Traces {
  readonly #tracer: Tracer;
  readonly #formatOwner: (owner: Owner) => string | undefined;

  constructor(tracer: Tracer, formatOwner: (owner: Owner) => string | undefined) {
    this.#tracer = tracer;
    this.#formatOwner = formatOwner;
  }

  /**
   * Adds the trace of a new task to its origin. The task's span is a child of its caller's, or else of the active span.
   */
  origin(origin: Origin, tool: string): Origin {
    const active = context.active();
    const caller = contextOf(origin.trace) ?? active;
    const above = trace.getSpanContext(caller);
    const span = this.#tracer.startSpan(`task ${tool}`, { attributes: { 'holdfast.tool': tool } }, caller);
    const own = span.spanContext();
    if (!isSpanContextValid(own)) return origin;
    // The same id means that no telemetry creates spans here. Other processes may, and then continue the caller's
    // trace.
    if (own.spanId === above?.spanId) return { ...origin, trace: origin.trace ?? traceOf(own) };
    if (!span.isRecording()) return { ...origin, trace: traceOf(own) };
    // The process that finishes the task exports a span with this id, so this one is not ended: see below.
    if (takesIds(span)) return { ...origin, trace: traceOf(own, above?.spanId ?? noSpan) };
    span.end();
    return { ...origin, trace: traceOf(own) };
  }

  /** Exports the spans of questions and tasks when they end. `writes` are all writes of the same commit. */
  happened(event: TaskEvent, write: TaskWrite, writes: readonly TaskWrite[]): void {
    if (!write.task.origin.trace) return;
    if (event.type === 'answered' || event.type === 'withdrawn') this.#settled(write, event.key);
    else if (event.type === 'finished') this.#finished(write, writes);
  }

  /** Starts the span of a pass. Undefined for a task without a trace. `recovered`: the last worker was lost. */
  passBegan(task: Task, recovered: boolean): ObservedPass | undefined {
    const below = contextOf(task.origin.trace);
    if (!below) return undefined;
    const attributes = {
      ...this.#about(task),
      'holdfast.pass': task.epoch,
      ...(recovered && { 'holdfast.recovered': true }),
    };
    const pass = this.#tracer.startSpan('pass', { attributes }, below);
    return {
      handler: (run) => context.with(below, run),
      attempt: (call, run) => this.#attempt(task, call, run, below, pass),
      ended(how) {
        pass.setAttribute('holdfast.pass.end', how);
        if (failedEnds.has(how)) pass.setStatus({ code: SpanStatusCode.ERROR });
        pass.end();
      },
    };
  }

  async #attempt(task: Task, call: ObservedCall, run: () => unknown, below: Context, pass: Span) {
    const { kind, name, attempt } = call;
    const about = { 'holdfast.task.id': task.id, 'holdfast.tool': task.tool };
    const attributes = { ...about, 'holdfast.pass': task.epoch, 'holdfast.attempt': attempt };
    const links = [{ context: pass.spanContext() }];
    const span = this.#tracer.startSpan(`${kind} ${name}`, { attributes, links }, below);
    try {
      const value = await context.with(trace.setSpan(below, span), run);
      // A check of a condition that is not met yet has no span: a wait of several days would create thousands.
      if (kind === 'step' || (value !== undefined && value !== null && value !== false)) span.end();
      return value;
    } catch (error) {
      // The message may contain secrets, so it is not recorded.
      span.setAttribute('error.type', isInstance(error, Error) ? nameOf(error) : typeof error);
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      throw error;
    }
  }

  /** Exports the span of a question, from when it was asked. */
  #settled({ task, at }: TaskWrite, key: string): void {
    const input = (task.inputs as readonly InputRecord[]).find((one) => one.key === key);
    if (!input) return;
    const attributes = { 'holdfast.task.id': task.id, 'holdfast.question': input.state };
    const below = contextOf(task.origin.trace) ?? ROOT_CONTEXT;
    const options = { attributes, startTime: new Date(input.askedAt) };
    this.#tracer.startSpan(`ask ${key}`, options, below).end(new Date(at));
  }

  /** Exports the span of a task and, for a subtask, the span of its start. */
  #finished({ task }: TaskWrite, writes: readonly TaskWrite[]): void {
    if (task.phase !== 'done') return;
    const outcome = outcomeWord(task.outcome);
    const own = spanContextOf(task.origin.trace!);
    const { parent } = task.origin.trace!;
    if (!own || parent === undefined) return;
    const startTime = new Date(task.createdAt);
    const above = { ...own, spanId: parent };
    const span = this.#exportable(`task ${task.tool}`, own, parent === noSpan ? undefined : above, {
      attributes: { ...this.#about(task), 'holdfast.passes': task.epoch, 'holdfast.outcome': outcome },
      startTime,
    });
    if (outcome === 'error' || outcome === 'failure' || outcome === 'lost')
      span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(new Date(task.finishedAt));
    // The span of a subtask is a child of a span `start`, which is a child of the parent's span. The commit that ends a
    // subtask also writes its parent, so `writes` contains the parent's trace.
    const starter = writes.find((one) => one.task.id === task.parentId)?.task.origin.trace;
    const below = starter && spanContextOf(starter);
    if (below) this.#exportable(`start ${task.tool}`, above, below, { startTime }).end(startTime);
  }

  /** Creates a span with these ids, which another process may have generated. */
  #exportable(name: string, own: SpanContext, parent: SpanContext | undefined, options: SpanOptions): Span {
    // Without a parent, the span is first created as its own child, so that it gets the right trace id and sampling.
    // The parent is removed below.
    const above = { ...(parent ?? own) };
    const span = this.#tracer.startSpan(name, options, trace.setSpanContext(ROOT_CONTEXT, above));
    if (span.isRecording() && takesIds(span)) {
      span.spanContext().spanId = own.spanId;
      if (!parent) above.spanId = '';
    }
    return span;
  }

  /** The attributes of spans about a task. */
  #about({ id, tool, owner, origin }: Task): Attributes {
    const formatted = this.#formatOwner(owner);
    return {
      'holdfast.task.id': id,
      'holdfast.tool': tool,
      'holdfast.dialect': origin.dialect,
      ...(formatted !== undefined && { 'holdfast.owner': formatted }),
    };
  }
}

// --- Spans that outlive processes ---------------------------------------------------------------------------

/*
 * The id of a task's span is stored in the task's first commit. The process that finishes the task exports the span, so
 * that a killed process does not lose a span that is the parent of others.
 *
 * The OpenTelemetry API cannot create a span with a given id. In OpenTelemetry's own SDK, a span is exported with the
 * context object that `spanContext()` returns, so we overwrite the ids in that object. With SDKs of other vendors, the
 * span of a task is exported when the task is created, and does not show how the task ended.
 */

/** The context whose new spans become children of the task's span. Undefined for a task without a valid trace. */
function contextOf(task: TaskTrace | undefined): Context | undefined {
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

/** The trace to store for a task: the context of its own span, and the id of that span's parent (see `TaskTrace`). */
function traceOf(own: SpanContext, parent?: string): TaskTrace {
  const { traceId, spanId, traceFlags: flags } = own;
  const tracestate = own.traceState?.serialize();
  return {
    traceparent: formatTraceParent({ traceId, spanId, flags }),
    ...(tracestate && { tracestate }),
    ...(parent !== undefined && { parent }),
  };
}

/**
 * True if the ids of this span can be overwritten and its parent removed. Tries it with the span's id and restores it.
 */
function takesIds(span: Span): boolean {
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
