/** Times that update themselves: only the text node changes, and only when the text differs. */
import { useComputed } from '@preact/signals';
import { now } from '../clock.ts';
import { ago, duration, fullMoment, moment, roughly } from '../format.ts';

/** The duration of something, or the time so far if it has not ended. */
export function Duration({ from, to }: { from: number; to?: number | null | undefined }) {
  if (to !== undefined && to !== null) return <span class="number">{duration(Math.max(0, to - from))}</span>;
  return <Elapsed key={from} from={from} />;
}

function Elapsed({ from }: { from: number }) {
  const text = useComputed(() => roughly(now.value - from));
  return <span class="number">{text}</span>;
}

/** `5 min ago`, with the exact moment as a tooltip. */
export function Ago({ at }: { at: number }) {
  return <AgoAt key={at} at={at} />;
}

function AgoAt({ at }: { at: number }) {
  const text = useComputed(() => ago(at, now.value));
  return (
    <time class="number" dateTime={new Date(at).toISOString()} title={fullMoment(at)}>
      {text}
    </time>
  );
}

/** `14:03:22`, with the exact moment as a tooltip. */
export function Moment({ at }: { at: number }) {
  return (
    <time class="number" dateTime={new Date(at).toISOString()} title={fullMoment(at)}>
      {moment(at, now.peek())}
    </time>
  );
}
