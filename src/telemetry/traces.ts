/**
 * One trace for each call: the task below its caller's span; passes, steps, questions and subtasks below the task.
 * Steps hang below the task and not below the pass that ran them, to which they are linked: the span of a pass dies
 * with its process. No argument, answer or result gets into a span.
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

/** Of passes that came to nothing. */
const badEnds: ReadonlySet<string> = new Set(['changed', 'lost', 'superseded']);

export class Traces {
  readonly #tracer: Tracer;
  readonly #shownAs: (owner: Owner) => string | undefined;

  constructor(tracer: Tracer, shownAs: (owner: Owner) => string | undefined) {
    this.#tracer = tracer;
    this.#shownAs = shownAs;
  }

  /** The origin with the trace of a task that is about to be made: below its caller, or below what is active here. */
  origin(origin: Origin, tool: string): Origin {
    const active = context.active();
    const caller = contextOf(origin.trace) ?? active;
    const above = trace.getSpanContext(caller);
    const span = this.#tracer.startSpan(`task ${tool}`, { attributes: { 'holdfast.tool': tool } }, caller);
    const own = span.spanContext();
    if (!isSpanContextValid(own)) return origin;
    // Nobody makes spans here. Others may, and go on with the caller's.
    if (own.spanId === above?.spanId) return { ...origin, trace: origin.trace ?? traceOf(own) };
    if (!span.isRecording()) return { ...origin, trace: traceOf(own) };
    if (takesIds(span)) return { ...origin, trace: traceOf(own, above?.spanId ?? noSpan) };
    span.end();
    return { ...origin, trace: traceOf(own) };
  }

  /** `writes`: all of the same commit. */
  happened(event: TaskEvent, write: TaskWrite, writes: readonly TaskWrite[]): void {
    if (!write.task.origin.trace) return;
    if (event.type === 'answered' || event.type === 'withdrawn') this.#settled(write, event.key);
    else if (event.type === 'finished') this.#finished(write, writes);
  }

  /** Undefined for a task that was made without a trace. */
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
        if (badEnds.has(how)) pass.setStatus({ code: SpanStatusCode.ERROR });
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
      // A poll that goes on for days leaves one span, not one for each look.
      if (kind === 'step' || (value !== undefined && value !== null && value !== false)) span.end();
      return value;
    } catch (error) {
      // What the error says may be anything, and stays here.
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
    // Whoever ends a subtask tells its parent in the same commit. Above the subtask is its start.
    const starter = writes.find((one) => one.task.id === task.parentId)?.task.origin.trace;
    const below = starter && spanContextOf(starter);
    if (below) this.#exportable(`start ${task.tool}`, above, below, { startTime }).end(startTime);
  }

  /** A span under the given ids, in whichever process they were made. */
  #exportable(name: string, own: SpanContext, parent: SpanContext | undefined, options: SpanOptions): Span {
    // Without a parent it is made below itself, so that it belongs to its trace and is sampled as that is.
    const above = { ...(parent ?? own) };
    const span = this.#tracer.startSpan(name, options, trace.setSpanContext(ROOT_CONTEXT, above));
    if (span.isRecording() && takesIds(span)) {
      span.spanContext().spanId = own.spanId;
      if (!parent) above.spanId = '';
    }
    return span;
  }

  #about({ id, tool, owner, origin }: Task): Attributes {
    const shown = this.#shownAs(owner);
    return {
      'holdfast.task.id': id,
      'holdfast.tool': tool,
      'holdfast.dialect': origin.dialect,
      ...(shown !== undefined && { 'holdfast.owner': shown }),
    };
  }
}

// --- Spans that outlive processes ---------------------------------------------------------------------------

/*
 * The span of a task is known by its id from the task's first commit on, and is exported by the process that ends the
 * task: a process that is killed takes no span with it that others refer to.
 *
 * The API of OpenTelemetry cannot create a span under a given id. With OpenTelemetry's own SDK the context that a span
 * returns is the one that it is exported with, and gets its ids here. With implementations of other vendors the span of
 * a task is exported when the task is created, and says nothing about its end.
 */

/** The context that a trace goes on in; undefined if there is none. */
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

/** Whether a span can be given an id, and have its parent taken away. */
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
