/**
 * The content of a timeline without its drawing: a lane for each process that advanced the task, a row for each call of
 * its handler, and the crashes. Drawing and table use the same rows, so that both show the same.
 */
import type { CallSpan, PassSpan, TaskDetails, TaskSummary } from '../../../src/operator/api.ts';
import { type Axis, axisOf, type Span } from './time-axis.ts';

export type RowKind = 'process' | 'step' | 'question' | 'timer' | 'event' | 'subtask';

export interface Row {
  /** The same in every layout of the same task, so that opened rows stay open. */
  readonly id: string;
  readonly kind: RowKind;
  readonly label: string;
  readonly state: 'open' | 'ok' | 'failed';
  readonly from: number;
  /** Null while it is open. */
  readonly to: number | null;
  readonly bars: readonly Bar[];
  readonly call?: CallSpan;
  readonly passes?: readonly PassSpan[];
  readonly child?: TaskSummary;
  readonly childId?: string;
}

/**
 * - `work`: a worker ran it; `failed`: the attempt failed; `torn`: the process died
 * - `pause`: between two attempts; `wait`: for a person, a timer or a subtask
 */
export interface Bar extends Span {
  readonly look: 'work' | 'failed' | 'torn' | 'pause' | 'wait' | 'ended' | 'cancelled';
  readonly isOpen: boolean;
  readonly pass?: PassSpan;
}

/** A process died at `at`. Another one took over at `resumedAt`. */
export interface Crash {
  readonly at: number;
  readonly worker: string;
  readonly pass: number;
  readonly resumedAt?: number;
  readonly resumedBy?: string;
  readonly replayed?: number;
}

export interface Timeline {
  readonly from: number;
  readonly to: number;
  readonly rows: readonly Row[];
  readonly crashes: readonly Crash[];
  readonly axis: Axis;
}

export function timelineOf(details: TaskDetails, now: number): Timeline {
  const crashes = crashesOf(details.passes);
  const end = details.task.finishedAt ?? Math.max(now, latestOf(details));
  const rows = [...laneRows(details.passes, end), ...callRows(details, crashes, end)];
  const whole = { from: details.task.createdAt, to: Math.max(end, details.task.createdAt + 1) };
  const busy = details.passes.map((pass) => ({ from: pass.from, to: pass.to ?? end }));
  const moments = crashes.flatMap(({ at, resumedAt = at }) => [at, resumedAt]);
  return { ...whole, rows, crashes, axis: axisOf(whole, busy, moments) };
}

/** Clocks of browser and server differ: nothing that happened may lie after the end of the drawing. */
function latestOf({ task, passes, calls }: TaskDetails): number {
  return Math.max(
    task.updatedAt,
    ...passes.map(({ from, to }) => to ?? from),
    ...calls.map(({ from, to }) => to ?? from),
  );
}

export function crashesOf(passes: readonly PassSpan[]): Crash[] {
  return passes.flatMap((pass, i) => {
    if (pass.end !== 'crashed') return [];
    const next = passes[i + 1];
    const at = pass.to ?? next?.from ?? pass.from;
    const resumed = next && { resumedAt: next.from, resumedBy: next.worker, replayed: next.replayed };
    return [{ at, worker: pass.worker, pass: pass.number, ...resumed }];
  });
}

// --- Lanes of processes -----------------------------------------------------------------------------------

function laneRows(passes: readonly PassSpan[], end: number): Row[] {
  const lanes = Map.groupBy(passes, (pass) => pass.worker);
  return [...lanes].map(([worker, own]) => ({
    id: `process ${worker}`,
    kind: 'process',
    label: worker,
    state: own.some((pass) => pass.end === 'crashed') ? 'failed' : own.at(-1)!.to === null ? 'open' : 'ok',
    from: own[0]!.from,
    to: own.at(-1)!.to,
    bars: own.map((pass) => ({
      from: pass.from,
      to: pass.to ?? end,
      look: pass.end === 'crashed' ? 'torn' : 'work',
      isOpen: pass.end === 'running',
      pass,
    })),
    passes: own,
  }));
}

// --- What the handler did ---------------------------------------------------------------------------------

const kinds: Readonly<Record<CallSpan['kind'], RowKind>> = {
  step: 'step',
  ask: 'question',
  start: 'subtask',
  result: 'subtask',
  sleep: 'timer',
  until: 'timer',
  event: 'event',
};

function callRows(details: TaskDetails, crashes: readonly Crash[], end: number): Row[] {
  const children = new Map(details.children.map((child) => [child.id, child]));
  const shown = new Set<string>();
  // Omitted calls are in the middle, and their number may grow, so later indexes include them.
  const half = details.calls.length / 2;
  const rows: Row[] = [];
  for (const [i, call] of details.calls.entries()) {
    // A subtask is one row, although its parent has several calls for it: its start, its result.
    if (call.childId !== undefined) {
      if (shown.has(call.childId)) continue;
      shown.add(call.childId);
      rows.push(subtaskRow(call.childId, children.get(call.childId), call, details.calls, end));
    } else rows.push(callRow(call, i < half ? i : i + details.omittedCalls, crashes, end));
  }
  for (const child of details.children)
    if (!shown.has(child.id)) rows.push(subtaskRow(child.id, child, undefined, [], end));
  return rows.sort((a, b) => a.from - b.from);
}

function callRow(call: CallSpan, index: number, crashes: readonly Crash[], end: number): Row {
  const kind = kinds[call.kind];
  return {
    id: `call ${index}`,
    kind,
    label: call.name || call.kind,
    state: call.state,
    from: call.from,
    to: call.to,
    bars: kind === 'step' ? stepBars(call, crashes, end) : [waitBar(call, end)],
    call,
  };
}

function waitBar(call: CallSpan, end: number): Bar {
  return { from: call.from, to: call.to ?? end, look: 'wait', isOpen: call.to === null };
}

/** Work until each failed attempt, then a pause. Work that a crash interrupted continues in the next pass. */
function stepBars(call: CallSpan, crashes: readonly Crash[], end: number): Bar[] {
  const bars: Bar[] = [];
  const last = call.to ?? end;
  let from = call.from;
  for (const { at, retryAt } of call.attempts) {
    bars.push(...work({ from, to: at }, 'failed', false));
    const until = Math.min(retryAt, last);
    if (until > at)
      bars.push({ from: at, to: until, look: 'pause', isOpen: call.to === null && retryAt > end });
    from = Math.max(at, retryAt);
  }
  if (from <= last)
    bars.push(...work({ from, to: last }, call.state === 'failed' ? 'failed' : 'work', call.to === null));
  return bars;

  function work(span: Span, look: Bar['look'], isOpen: boolean): Bar[] {
    const pieces: Bar[] = [];
    let start = span.from;
    for (const crash of crashes) {
      if (crash.at < start || crash.at > span.to || (crash.at === span.to && !isOpen)) continue;
      pieces.push({ from: start, to: crash.at, look: 'torn', isOpen: false });
      if (crash.resumedAt === undefined) return pieces;
      start = crash.resumedAt;
    }
    return [...pieces, { from: Math.min(start, span.to), to: span.to, look, isOpen }];
  }
}

const ends: Readonly<Record<TaskSummary['status'], 'open' | 'ok' | 'failed'>> = {
  queued: 'open',
  running: 'open',
  waiting: 'open',
  completed: 'ok',
  failed: 'failed',
  lost: 'failed',
  cancelled: 'ok',
};

function subtaskRow(
  childId: string,
  child: TaskSummary | undefined,
  call: CallSpan | undefined,
  calls: readonly CallSpan[],
  end: number,
): Row {
  const waited = calls.findLast((other) => other.childId === childId);
  const from = child?.createdAt ?? call?.from ?? end;
  const to = child ? (child.finishedAt ?? null) : (waited?.to ?? null);
  const state = child ? ends[child.status] : (waited?.state ?? 'open');
  const isOver = child?.status === 'cancelled' ? 'cancelled' : state === 'failed' ? 'failed' : 'ended';
  const bar: Bar = { from, to: to ?? end, look: to === null ? 'work' : isOver, isOpen: to === null };
  return {
    id: `subtask ${childId}`,
    kind: 'subtask',
    label: child?.tool ?? call?.name ?? childId,
    state,
    from,
    to,
    bars: [bar],
    ...(waited && { call: waited }),
    ...(child && { child }),
    childId,
  };
}
