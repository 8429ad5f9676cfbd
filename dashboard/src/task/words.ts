/** The texts of a timeline row, shared by its label, tooltip, details and the table. */
import type { PassSpan } from '../../../src/operator/api.ts';
import { duration, plural } from '../format.ts';
import type { Bar, Row, RowKind } from './timeline-layout.ts';

/** Process names are long and random; their beginning is enough to distinguish them. */
export function processName(worker: string): string {
  return worker.length > 20 ? `${worker.slice(0, 8)}…` : worker;
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
  running: 'running',
  parked: 'parked until an event',
  released: 'released for another worker',
  crashed: 'its process died',
  ended: 'ended the task',
};

export function passWords(pass: PassSpan): string {
  const again = pass.replayed > 0 ? `, ${notRepeated(pass.replayed)}` : '';
  return `pass ${pass.number}: ${passEnds[pass.end]}${again}`;
}

export function notRepeated(replayed: number): string {
  return replayed === 0 ? 'no completed steps' : `${plural(replayed, 'step')} not repeated`;
}

/** The state of a row in a few words. */
export function stateWords(row: Row): string {
  const { kind, state, call, child } = row;
  if (call && !child && state === 'open' && row.to !== null) return 'cut off by the end of the task';
  switch (kind) {
    case 'process':
      return processWords(row);
    case 'subtask':
      return child?.status ?? { open: 'running', ok: 'finished', failed: 'failed' }[state];
    case 'question':
      return { open: 'waiting for an answer', ok: 'answered', failed: 'not answered' }[state];
    case 'timer':
      return { open: 'running', ok: 'done', failed: 'failed' }[state];
    case 'event':
      return { open: 'waiting', ok: 'received', failed: 'not received' }[state];
    case 'step':
      if (state === 'open')
        return row.bars.at(-1)?.look === 'pause' ? 'waiting for its next attempt' : 'running';
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
  if (last.end === 'running') words.push('running');
  return words.join(', ');
}

/** The duration of a row; empty for a process, which did other work in between. */
export function tookWords({ kind, from, to }: Row, now: number): string {
  return kind === 'process' ? '' : duration(Math.max(0, (to ?? now) - from));
}

/** The label in front of the bars. */
export function nameOf({ kind, label }: Row): string {
  return kind === 'process' ? processName(label) : label;
}

/** The whole row in one sentence, for screen readers. */
export function rowSentence(row: Row, now: number): string {
  const took = tookWords(row, now);
  const error = row.call?.error ? `: ${row.call.error}` : '';
  return `${kindWords[row.kind]} ${nameOf(row)}, ${stateWords(row)}${error}${took && `, ${took}`}`;
}

const barWords: Readonly<Record<Bar['look'], string>> = {
  work: 'running',
  failed: 'a failed attempt',
  torn: 'cut off: the process died',
  pause: 'pause before the next attempt',
  wait: 'waiting',
  ended: 'finished',
  cancelled: 'cancelled',
};

export function barSentence(row: Row, bar: Bar): string {
  if (bar.pass) return passWords(bar.pass);
  return row.bars.length > 1 || bar.look === 'torn' ? barWords[bar.look] : stateWords(row);
}
