/**
 * What the timeline shows of a story, free of any drawing: lanes of the processes that advanced the task, one row for
 * each thing that its handler did, and where processes died. The drawing and the table are made of the same rows, so
 * that neither can tell what the other does not.
 */
import type { CallSpan, PassSpan, TaskDetails, TaskSummary } from '../../../src/operator/api.ts';
import { type Axis, axisOf, type Span } from './time-axis.ts';

export type RowKind = 'process' | 'step' | 'question' | 'timer' | 'event' | 'subtask';

export interface Row {
  /** The same in every layout of the same story, so that what a reader opened stays open. */
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
 * - `work`: somebody worked on it; `failed`: and it failed; `torn`: and its process died
 * - `pause`: between two attempts; `wait`: for a person, a timer or a subtask
 */
export interface Bar extends Span {
  readonly look: 'work' | 'failed' | 'torn' | 'pause' | 'wait' | 'ended' | 'cancelled';
  readonly isOpen: boolean;
  readonly pass?: PassSpan;
}

/** A process died at `at`. Who took over did so at `resumedAt`. */
export interface Crash {
  readonly at: number;
  readonly holder: string;
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

export function timelineOf(story: TaskDetails, now: number): Timeline {
  const crashes = crashesOf(story.passes);
  const end = story.task.finishedAt ?? Math.max(now, latestOf(story));
  const rows = [...laneRows(story.passes, end), ...callRows(story, crashes, end)];
  const whole = { from: story.task.createdAt, to: Math.max(end, story.task.createdAt + 1) };
  const busy = story.passes.map((pass) => ({ from: pass.from, to: pass.to ?? end }));
  const moments = crashes.flatMap(({ at, resumedAt = at }) => [at, resumedAt]);
  return { ...whole, rows, crashes, axis: axisOf(whole, busy, moments) };
}

/** Clocks of browsers and servers differ: nothing that was told may lie in the future of the drawing. */
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
    return [{ at, holder: pass.worker, pass: pass.number, ...resumed }];
  });
}

// --- Lanes of processes -----------------------------------------------------------------------------------

function laneRows(passes: readonly PassSpan[], end: number): Row[] {
  const lanes = Map.groupBy(passes, (pass) => pass.worker);
  return [...lanes].map(([holder, own]) => ({
    id: `process ${holder}`,
    kind: 'process',
    label: holder,
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

function callRows(story: TaskDetails, crashes: readonly Crash[], end: number): Row[] {
  const children = new Map(story.children.map((child) => [child.id, child]));
  const told = new Set<string>();
  // What is left out is in the middle, and may grow: the later ones are counted with it.
  const half = story.calls.length / 2;
  const rows: Row[] = [];
  for (const [i, call] of story.calls.entries()) {
    // A subtask is one row, however often its parent speaks of it: its start, its result.
    if (call.childId !== undefined) {
      if (told.has(call.childId)) continue;
      told.add(call.childId);
      rows.push(subtaskRow(call.childId, children.get(call.childId), call, story.calls, end));
    } else rows.push(callRow(call, i < half ? i : i + story.omittedCalls, crashes, end));
  }
  for (const child of story.children)
    if (!told.has(child.id)) rows.push(subtaskRow(child.id, child, undefined, [], end));
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

/** Work until each failed attempt, a pause until the next; what a crash cut off was done again by the next pass. */
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
