/** Formats times for people, and parses times from the command line. */
import { type Duration, toMs } from '../model/duration.ts';
import { hasCode } from '../model/errors.ts';
import { runtime } from '../runtime/runtime.ts';
import { WrongUsage } from './usage.ts';

/** `0:07`, `12:05`, `3:20:00`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const two = (n: number) => String(n).padStart(2, '0');
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** A duration in its largest unit: `7 s`, `5 min`, `3 h`, `12 d`. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

/** A duration: `40 ms`, `1.2 s`, `48 s`, `3:20`, `2:05:00`, `3 d 4 h`. */
export function took(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`;
  if (ms < 86_400_000) return clock(ms);
  const hours = Math.floor(ms / 3_600_000);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The local time of day: `14:02:11`. The Swedish locale has this format. */
export function timeOfDay(at: number): string {
  return new Date(at).toLocaleTimeString('sv');
}

/** The local date and time: `2026-07-28 14:02:11`. */
export function dayAndTime(at: number): string {
  return new Date(at).toLocaleString('sv');
}

/**
 * Parses a date or time (`2026-07-28`, `2026-07-28T12:00:00Z`), or a duration before now (`30m`, `12h`, `7d`). Returns
 * milliseconds since 1970.
 */
export function momentFrom(text: string, now = runtime.now()): number {
  try {
    if (/^\d+(\.\d+)?[a-z]+$/.test(text)) return now - toMs(text as Duration);
  } catch (error) {
    if (!hasCode(error, 'INVALID_DURATION')) throw error;
  }
  const moment = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(moment)) throw new WrongUsage(`"${text}" is neither a time nor a duration`);
  return moment;
}
