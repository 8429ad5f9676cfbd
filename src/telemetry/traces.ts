/**
 * One trace for each call: the task's span below its caller's; passes, steps, questions and subtasks below the task.
 * Steps are children of the task and only linked to their pass, because the span of a pass is lost if its process dies.
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

/** How passes end that must discard their work. */
const failedEnds: ReadonlySet<string> = new Set(['changed', 'lost', 'superseded']);

export class Traces {
  readonly #tracer: Tracer;
  readonly #formatOwner: (owner: Owner) => string | undefined;

  constructor(tracer: Tracer, formatOwner: (owner: Owner) => string | undefined) {
    this.#tracer = tracer;
    this.#formatOwner = formatOwner;
  }

  /** Adds the trace of a new task to its origin: below its caller's span, or else below the active span. */
  origin(origin: Origin, tool: string): Origin {
    const active = context.active();
    const caller = contextOf(origin.trace) ?? active;
    const above = trace.getSpanContext(caller);
    const span = this.#tracer.startSpan(`task ${tool}`, { attributes: { 'holdfast.tool': tool } }, caller);
    const own = span.spanContext();
    if (!isSpanContextValid(own)) return origin;
    // This process creates no spans. Other processes may, and continue the caller's trace.
    if (own.spanId === above?.spanId) return { ...origin, trace: origin.trace ?? traceOf(own) };
    if (!span.isRecording()) return { ...origin, trace: traceOf(own) };
    if (takesIds(span)) return { ...origin, trace: traceOf(own, above?.spanId ?? noSpan) };
    span.end();
    return { ...origin, trace: traceOf(own) };
  }

  /** `writes` are all writes of the same commit. */
  happened(event: TaskEvent, write: TaskWrite, writes: readonly TaskWrite[]): void {
    if (!write.task.origin.trace) return;
    if (event.type === 'answered' || event.type === 'withdrawn') this.#settled(write, event.key);
    else if (event.type === 'finished') this.#finished(write, writes);
  }

  /** Undefined for a task without a trace. */
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
      // Only the last check of a condition has a span: a wait of several days would otherwise create thousands.
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

  #settled({ task, at }: TaskWrite, key: string): void {
    const input = (task.inputs as readonly InputRecord[]).find((one) => one.key === key);
    if (!input) return;
    const attributes = { 'holdfast.task.id': task.id, 'holdfast.question': input.state };
    const below = contextOf(task.origin.trace) ?? ROOT_CONTEXT;
    const options = { attributes, startTime: new Date(input.askedAt) };
    this.#tracer.startSpan(`ask ${key}`, options, below).end(new Date(at));
  }

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
    // The commit that ends a subtask also writes its parent. The span above a subtask is that of its start.
    const starter = writes.find((one) => one.task.id === task.parentId)?.task.origin.trace;
    const below = starter && spanContextOf(starter);
    if (below) this.#exportable(`start ${task.tool}`, above, below, { startTime }).end(startTime);
  }

  /** Creates a span with these ids, which another process may have generated. */
  #exportable(name: string, own: SpanContext, parent: SpanContext | undefined, options: SpanOptions): Span {
    // Without a parent, the span is created below itself, so that it has the right trace and the right sampling.
    const above = { ...(parent ?? own) };
    const span = this.#tracer.startSpan(name, options, trace.setSpanContext(ROOT_CONTEXT, above));
    if (span.isRecording() && takesIds(span)) {
      span.spanContext().spanId = own.spanId;
      if (!parent) above.spanId = '';
    }
    return span;
  }

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
 * The id of a task's span is stored in the task's first commit. The process that ends the task exports the span, so that
 * no span that others refer to is lost with a killed process.
 *
 * The OpenTelemetry API cannot create a span with a given id. In OpenTelemetry's own SDK, a span is exported with the
 * context object that it returns, so we overwrite the ids in that object. With SDKs of other vendors the span of a task
 * is exported when the task is created, and does not contain its end.
 */

/** The context in which a trace continues. Undefined if there is none. */
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

/** The trace of a task as it is stored, below the given span. */
function traceOf(own: SpanContext, parent?: string): TaskTrace {
  const { traceId, spanId, traceFlags: flags } = own;
  const tracestate = own.traceState?.serialize();
  return {
    traceparent: formatTraceParent({ traceId, spanId, flags }),
    ...(tracestate && { tracestate }),
    ...(parent !== undefined && { parent }),
  };
}

/** True if the ids of this span can be overwritten, and its parent removed. */
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
