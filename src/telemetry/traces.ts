/**
 * One trace for each call: the task below its caller's span; passes, steps, questions and subtasks below the task.
 * Steps hang below the task and not below the pass that ran them, to which they are linked: the span of a pass dies
 * with its process. No argument, answer or result gets into a span.
 */
import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { Change, TaskWrite } from '../engine/change.ts';
import type { ObservedCall, ObservedPass } from '../engine/observer.ts';
import type { InputRecord } from '../model/input.ts';
import { outcomeWord } from '../model/outcome.ts';
import type { Origin, Owner, Task } from '../model/task.ts';
import { isInstance, nameOf } from '../model/thrown.ts';
import { noSpan } from '../model/trace.ts';
import { contextOf, exportTask, takesIds, traceOf } from './task-spans.ts';

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

  committed({ writes }: Change): void {
    for (const write of writes) {
      if (!write.task.origin.trace) continue;
      for (const event of write.events) {
        if (event.type === 'answered' || event.type === 'withdrawn') this.#settled(write, event.key);
        else if (event.type === 'finished') this.#finished(write, writes);
      }
    }
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

  async #attempt(
    task: Task,
    { kind, name, attempt }: ObservedCall,
    run: () => unknown,
    below: Context,
    pass: Span,
  ): Promise<unknown> {
    const attributes = {
      'holdfast.task.id': task.id,
      'holdfast.tool': task.tool,
      'holdfast.pass': task.epoch,
      'holdfast.attempt': attempt,
    };
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
    // Whoever ends a subtask tells its parent in the same commit.
    const parent = writes.find((one) => one.task.id === task.parentId)?.task.origin.trace;
    exportTask(
      this.#tracer,
      task.origin.trace!,
      {
        name: `task ${task.tool}`,
        from: task.createdAt,
        until: task.finishedAt,
        failed: outcome === 'error' || outcome === 'failure' || outcome === 'lost',
        attributes: { ...this.#about(task), 'holdfast.passes': task.epoch, 'holdfast.outcome': outcome },
      },
      parent && { name: `start ${task.tool}`, below: parent },
    );
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
