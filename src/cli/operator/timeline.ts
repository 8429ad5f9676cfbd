/** The history of a task as rows: each pass, followed by the handler's calls that are new in it. */
import type { CallSpan, PassSpan, TaskDetails, TaskSummary } from '../../operator/api.ts';
import { took } from '../time.ts';
import { type Colour, oneLine } from '../views/terminal-text.ts';
import { detailText, type Style, statusSigns } from './drawing-style.ts';

export interface Row {
  readonly label: string;
  /** 0 for a pass, 1 for a call in a pass. */
  readonly depth: 0 | 1;
  readonly notes: readonly Note[];
  /**
   * Rows with a higher weight are kept first if there is not enough room: 4 for a crash, 3 for open passes and calls,
   * 2 for failures and unfinished subtasks.
   */
  readonly weight: number;
  readonly from: number;
  readonly to: number;
  /** The character of which the bar consists. */
  readonly sign: string;
  readonly colour: Colour;
  /** True if it has not ended: the bar ends with an arrow. */
  readonly continues?: boolean;
  /** Points in time: failed attempts, or the death of the process. */
  readonly points?: readonly { readonly at: number; readonly sign: string; readonly colour: Colour }[];
}

type Note = { readonly text: string; readonly colour: Colour };

/** How many failed attempts of a call are shown without `--full`: the latest. */
const maxAttempts = 3;

export function rowsOf(details: TaskDetails, style: Style): Row[] {
  const { now, isFull } = style;
  const children = new Map(details.children.map((child) => [child.id, child]));
  const started = new Set(details.calls.filter(({ kind }) => kind === 'start').map(({ childId }) => childId));
  const calls = Map.groupBy(
    // The row of a subtask also shows the wait for its result.
    details.calls.filter(({ kind, childId }) => !(kind === 'result' && started.has(childId))),
    ({ pass }) => pass,
  );
  const rows = queuedRow(details, now);
  const { passes } = details;
  for (let i = 0; i < passes.length; i++) {
    const idle = isFull ? 0 : idlePasses(passes, i, calls);
    if (idle > 1) {
      rows.push(severalPasses(passes.slice(i, i + idle)));
      i += idle - 1;
      continue;
    }
    rows.push(passRow(details, i, now));
    for (const call of (calls.get(passes[i]!.number) ?? []).toSorted((a, b) => a.from - b.from))
      rows.push(callRow(call, children.get(call.childId ?? ''), style));
  }
  return rows;
}

/** The time from the creation to the first pass, if it is long enough to notice. */
function queuedRow({ task, passes }: TaskDetails, now: number): Row[] {
  const to = passes[0]?.from ?? task.finishedAt ?? now;
  const continues = passes.length === 0 && task.finishedAt === undefined;
  if (to - task.createdAt < 1_000 && !continues) return [];
  const notes: Note[] =
    task.blocked === undefined ? [] : [{ text: `blocked: ${oneLine(task.blocked)}`, colour: 'yellow' }];
  const bar = { from: task.createdAt, to, sign: '░', colour: 'dim', continues } as const;
  return [{ label: 'queued', depth: 0, ...bar, notes, weight: continues ? 3 : 0 }];
}

// --- Passes -----------------------------------------------------------------------------------------------

/** Counts consecutive passes, from the index `first`, that found nothing new and parked again. */
function idlePasses(passes: readonly PassSpan[], first: number, calls: ReadonlyMap<number, unknown>): number {
  const isIdle = ({ end, number }: PassSpan, before: PassSpan | undefined) =>
    end === 'parked' && !calls.has(number) && before?.end !== 'crashed';
  let next = first;
  while (next < passes.length && isIdle(passes[next]!, passes[next - 1])) next++;
  return next - first;
}

function severalPasses(passes: readonly PassSpan[]): Row {
  const [first, last] = [passes[0]!, passes[passes.length - 1]!];
  return {
    label: `passes ${first.number} to ${last.number}`,
    depth: 0,
    from: first.from,
    to: last.to ?? last.from,
    sign: '░',
    colour: 'dim',
    points: passes.map(({ from }) => ({ at: from, sign: '━', colour: 'dim' as const })),
    notes: [{ text: 'nothing new, parked again', colour: 'dim' }],
    weight: 0,
  };
}

function passRow(details: TaskDetails, i: number, now: number): Row {
  const [before, pass, after] = [details.passes[i - 1], details.passes[i]!, details.passes[i + 1]];
  const { number, worker, from, end } = pass;
  const isDead = end === 'crashed';
  const to = pass.to ?? now;
  const notes: Note[] = [];
  if (before?.end === 'crashed') notes.push({ text: `↻ ${resumed(pass, details)}`, colour: 'green' });
  if (isDead) {
    const taken = after ? `; taken over ${took(after.from - to)} later` : '';
    notes.push({ text: `✗ process died${taken}`, colour: 'red' });
  }
  if (end === 'released') notes.push({ text: 'released', colour: 'dim' });
  return {
    label: `pass ${number}  ${shortName(worker)}`,
    depth: 0,
    from,
    to,
    sign: '━',
    colour: isDead ? 'red' : 'dim',
    continues: end === 'running',
    points: isDead ? [{ at: to, sign: '✗', colour: 'red' }] : [],
    notes,
    weight: isDead || before?.end === 'crashed' ? 4 : end === 'running' ? 3 : 1,
  };
}

/** Shortens names of workers that are ids. */
function shortName(worker: string): string {
  const name = oneLine(worker);
  return /^[a-z2-7]{32}$/.test(name) ? name.slice(0, 8) : name;
}

/** How a pass resumed after a crash: completed calls are not repeated. */
export function resumed({ replayed, from }: PassSpan, { calls }: TaskDetails): string {
  if (replayed === 0) return 'restarted';
  const settled = calls.filter(({ to }) => to !== null && to <= from);
  const what = settled.every(({ kind }) => kind === 'step') ? 'step' : 'call';
  return `resumed, ${replayed} ${what}${replayed === 1 ? '' : 's'} not repeated`;
}

// --- Calls of the handler ---------------------------------------------------------------------------------

/** Calls that wait instead of working. Their bars are lighter. */
const waits: readonly CallSpan['kind'][] = ['ask', 'sleep', 'until', 'event', 'result'];

function callRow(call: CallSpan, child: TaskSummary | undefined, { now, isFull }: Style): Row {
  if (call.kind === 'start' && child) return childRow(call, child, now);
  const { kind, from, state, attempts, error, due } = call;
  const to = call.to ?? now;
  const notes: Note[] = [];
  const shown = isFull ? attempts : attempts.slice(-maxAttempts);
  if (shown.length < attempts.length)
    notes.push({ text: `${attempts.length - shown.length} earlier attempts failed`, colour: 'yellow' });
  for (const [i, { message, retryAt }] of shown.entries()) {
    const number = attempts.length - shown.length + i + 1;
    const again = retryAt > now ? `; retry in ${took(retryAt - now)}` : '';
    notes.push({ text: `✖ attempt ${number}: ${oneLine(message)}${again}`, colour: 'yellow' });
  }
  if (error !== undefined) notes.push({ text: `✖ ${oneLine(error)}`, colour: 'red' });
  if (state === 'open' && due !== undefined && due > now && kind !== 'step')
    notes.push({ text: `due in ${took(due - now)}`, colour: 'dim' });
  if (isFull && call.value !== undefined && kind !== 'ask')
    notes.push({ text: `→ ${oneLine(JSON.stringify(call.value))}`, colour: 'dim' });
  return {
    label: labelOf(call),
    depth: 1,
    from,
    to,
    sign: waits.includes(kind) ? '░' : '█',
    colour: state === 'failed' ? 'red' : kind === 'ask' ? 'yellow' : state === 'open' ? 'cyan' : 'green',
    continues: state === 'open',
    points: attempts.map(({ at }) => ({ at, sign: '✖', colour: 'red' as const })),
    notes,
    weight: state === 'open' ? 3 : state === 'failed' || attempts.length > 0 ? 2 : 0,
  };
}

function labelOf({ kind, name, key }: CallSpan): string {
  const text = oneLine(name);
  if (kind === 'step') return text;
  if (kind === 'ask') return `? ${oneLine(key ?? name)}`;
  if (kind === 'start') return `▸ ${text}`;
  if (kind === 'result') return `result of ${text}`;
  return text === '' || text === kind ? kind : `${kind} ${text}`;
}

/** A subtask, from its start to its end. */
function childRow({ from }: CallSpan, child: TaskSummary, now: number): Row {
  const [sign, colour] = statusSigns[child.status];
  const isBad = child.status === 'failed' || child.status === 'lost';
  return {
    label: `▸ ${oneLine(child.tool)} ${child.id.slice(0, 8)}`,
    depth: 1,
    from,
    to: child.finishedAt ?? now,
    sign: '▒',
    colour,
    continues: child.finishedAt === undefined,
    notes:
      child.status === 'completed' || child.status === 'running'
        ? []
        : [{ text: [`${sign} ${child.status}`, detailText(child)].filter(Boolean).join(': '), colour }],
    weight: isBad || child.finishedAt === undefined ? 2 : 0,
  };
}
