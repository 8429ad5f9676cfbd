/** Durations, times and counts for people. */
import type { TaskSummary } from '../../src/operator/api.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `340 ms`, `4.2 s`, `3 min 5 s`, `2 h 14 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  // A value that rounds up to a whole larger unit is shown in that unit: `1 h`, not `60 min`.
  if (ms < second - 0.5) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9.95 * second) return `${(ms / second).toFixed(1)} s`;
  if (ms < 59.5 * second) return `${Math.round(ms / second)} s`;
  if (ms < hour - second / 2) return two(ms, minute, 'min', second, 's');
  if (ms < day - minute / 2) return two(ms, hour, 'h', minute, 'min');
  return two(ms, day, 'd', hour, 'h');
}

/** The same in one unit without fractions, for texts that change every second: `0 s`, `4 s`, `3 min`. */
export function roughly(ms: number): string {
  if (ms < minute) return `${Math.max(0, Math.floor(ms / second))} s`;
  if (ms < hour) return `${Math.floor(ms / minute)} min`;
  if (ms < day) return `${Math.floor(ms / hour)} h`;
  return `${Math.floor(ms / day)} d`;
}

/** The time until something happens: `40 s`, `5 min`, `2 h 59 min`. More precise than `roughly` above an hour. */
export function ahead(ms: number): string {
  return ms < hour ? roughly(ms) : duration(ms);
}

/** `just now`, `12 s ago`, `5 min ago`, `in 2 h 59 min`. */
export function ago(at: number, from: number): string {
  const ms = from - at;
  if (Math.abs(ms) < 5 * second) return 'just now';
  return ms < 0 ? `in ${ahead(-ms)}` : `${roughly(ms)} ago`;
}

const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const shortTime = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayAndTime = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const full = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'full',
  timeStyle: 'long',
});

/** The time of day, with the date if it is more than 12 hours from `from`. */
export function moment(at: number, from: number): string {
  return Math.abs(from - at) < 12 * hour ? time.format(at) : dayAndTime.format(at);
}

/** A moment on an axis: the time of day, with the date if the axis is longer than 12 hours. */
export function onAxis(at: number, axisMs: number): string {
  return axisMs > 12 * hour ? dayAndTime.format(at) : shortTime.format(at);
}

/**
 * An interval on such an axis: `14:05 – 14:06`, with seconds if it is shorter than a minute. If both ends are on the
 * same day, the date is not repeated. An interval that is not over ends with `now`.
 */
export function intervalOnAxis(from: number, to: number, axisMs: number, now: number): string {
  const isShort = to - from < minute;
  const begins = isShort ? time.format(from) : onAxis(from, axisMs);
  if (to > now) return `${begins} – now`;
  const isSameDay = new Date(from).toDateString() === new Date(to).toDateString();
  const ends = isShort ? time.format(to) : isSameDay ? shortTime.format(to) : onAxis(to, axisMs);
  return `${begins} – ${ends}`;
}

/** Full date and time, for tooltips. */
export function fullMoment(at: number): string {
  return full.format(at);
}

const numbers = new Intl.NumberFormat('en');
const compactNumbers = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** `10,000`, or `10,000+` if there are more. */
export function count(value: number, isMore = false): string {
  return `${numbers.format(value)}${isMore ? '+' : ''}`;
}

/** `12K`, for narrow places. */
export function compact(value: number): string {
  return compactNumbers.format(value);
}

/** `1 task`, `2 tasks`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A short name for an owner: for a token its subject and client, without the issuer. */
export function ownerName(owner: string): string {
  if (owner === '') return '–';
  if (!owner.startsWith('token:')) return owner;
  try {
    const [, subject, client] = JSON.parse(owner.slice('token:'.length)) as string[];
    return subject && client && subject !== client ? `${subject} (${client})` : subject || client || owner;
  } catch {
    return owner;
  }
}

/** One line about a task next to its tool: its problem, its message, or else its id. */
export function aboutTask(task: TaskSummary): string {
  const message = task.blocked ?? task.problem ?? task.statusMessage ?? task.progress?.message;
  if (message) return message;
  return task.childCount > 0 ? plural(task.childCount, 'subtask') : task.id;
}

function two(ms: number, unit: number, name: string, smaller: number, smallerName: string): string {
  const whole = Math.round(ms / smaller);
  const each = unit / smaller;
  const rest = whole % each;
  const first = `${Math.floor(whole / each)} ${name}`;
  return rest === 0 ? first : `${first} ${rest} ${smallerName}`;
}
