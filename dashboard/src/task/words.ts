/** What a row of the timeline says in words: the same for its name, its tooltip, its details and the table. */
import type { PassSpan } from '../../../src/operator/api.ts';
import { duration, plural } from '../format.ts';
import type { Bar, Row, RowKind } from './timeline-layout.ts';

/** Processes call themselves by long random names: their beginning tells them apart well enough. */
export function processName(holder: string): string {
  return holder.length > 20 ? `${holder.slice(0, 8)}…` : holder;
}

export const kindWords: Readonly<Record<RowKind, string>> = {
  process: 'Process',
  step: 'Step',
  question: 'Question',
  timer: 'Timer',
  event: 'Event',
  subtask: 'Subtask',
};

const passEnds: Readonly<Record<PassSpan['end'], string>> = {
  running: 'under way',
  parked: 'parked, with nothing to do until something happens',
  released: 'handed over in order',
  crashed: 'its process died',
  ended: 'ended the task',
};

export function passWords(pass: PassSpan): string {
  const again = pass.replayed > 0 ? `, ${notRepeated(pass.replayed)}` : '';
  return `pass ${pass.number}: ${passEnds[pass.end]}${again}`;
}

export function notRepeated(replayed: number): string {
  return replayed === 0 ? 'nothing had to be kept' : `${plural(replayed, 'step')} not repeated`;
}

/** How it went, in a few words. */
export function stateWords(row: Row): string {
  const { kind, state, call, child } = row;
  if (call && !child && state === 'open' && row.to !== null) return 'cut short by the end of the task';
  switch (kind) {
    case 'process':
      return processWords(row);
    case 'subtask':
      return child?.status ?? { open: 'under way', ok: 'ended', failed: 'failed' }[state];
    case 'question':
      return { open: 'waits for an answer', ok: 'answered', failed: 'not answered' }[state];
    case 'timer':
      return { open: 'runs', ok: 'over', failed: 'given up' }[state];
    case 'event':
      return { open: 'waited for', ok: 'came', failed: 'did not come' }[state];
    case 'step':
      if (state === 'open')
        return row.bars.at(-1)?.look === 'pause' ? 'waits for its next attempt' : 'under way';
      return `${state === 'ok' ? 'done' : 'failed'}${attemptWords(call?.attempts.length ?? 0)}`;
  }
}

function attemptWords(failed: number): string {
  return failed === 0 ? '' : `, ${failed + 1} attempts`;
}

function processWords({ passes = [] }: Row): string {
  const crashed = passes.filter(({ end }) => end === 'crashed').length;
  const last = passes.at(-1)!;
  const words = [plural(passes.length, 'pass', 'passes')];
  if (crashed > 0) words.push(crashed === 1 ? 'died' : `died ${crashed} times`);
  if (last.end === 'running') words.push('under way');
  return words.join(', ');
}

/** How long it took; empty of a process, which did other things in between. */
export function tookWords({ kind, from, to }: Row, now: number): string {
  return kind === 'process' ? '' : duration(Math.max(0, (to ?? now) - from));
}

/** What stands before its bars. */
export function nameOf({ kind, label }: Row): string {
  return kind === 'process' ? processName(label) : label;
}

/** Everything in one sentence, for those who do not see the drawing. */
export function rowSentence(row: Row, now: number): string {
  const took = tookWords(row, now);
  const error = row.call?.error ? `: ${row.call.error}` : '';
  return `${kindWords[row.kind]} ${nameOf(row)}, ${stateWords(row)}${error}${took && `, ${took}`}`;
}

const barWords: Readonly<Record<Bar['look'], string>> = {
  work: 'at work',
  failed: 'a failed attempt',
  torn: 'cut off: the process died',
  pause: 'pause before the next attempt',
  wait: 'waiting',
  ended: 'ended',
  cancelled: 'cancelled',
};

export function barSentence(row: Row, bar: Bar): string {
  if (bar.pass) return passWords(bar.pass);
  return row.bars.length > 1 || bar.look === 'torn' ? barWords[bar.look] : stateWords(row);
}
