/**
 * Very many ended tasks, summed up: SQLite would have to sort them to group them, and to hand over each as a row takes
 * longer still. As two long lists, of numbers and of tools, a million is read in a moment.
 */
import type { EndedSums } from '../values/survey-source.ts';
import { classOf, kindOf, kinds } from '../values/tally.ts';

/** Durations with the code of the standing in their last four bits, and tools; each list in the same order. */
export const endedLists = `
  cast(group_concat((ended_at - created_at) * 16 + standing) as blob), cast(group_concat(tool) as blob)`;

/** Null if there is nothing. */
export type EndedLists = readonly [numbers: Uint8Array | null, tools: Uint8Array | null];

const comma = 44;
const zero = 48;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
/** The classes of what took up to a minute, which is most. */
const soonOver = Uint16Array.from({ length: 65_536 }, (_, ms) => classOf(ms));

/** Of one tool, how many there are of each kind. */
interface OfTool {
  readonly name: Uint8Array;
  readonly counts: Uint32Array;
  /** Which of them are not zero. */
  readonly used: number[];
}

/**
 * None if the lists do not say it all: what columns do not tell is missing in one of them or has another code, and a
 * tool with a comma in its name makes the other one longer.
 */
export function sumsOf([numbers, tools]: EndedLists): EndedSums[] | undefined {
  if (!tools) return [];
  if (!numbers) return undefined;
  const known = new Map<number, OfTool>();
  let at = 0;
  let next = 0;
  while (next < tools.length) {
    let number = 0;
    for (; at < numbers.length && numbers[at] !== comma; at++) {
      const digit = numbers[at]! - zero;
      if (digit < 0 || digit > 9) return undefined;
      number = number * 10 + digit;
    }
    const from = next;
    let hash = 0;
    for (; next < tools.length && tools[next] !== comma; next++)
      hash = (Math.imul(hash, 31) + tools[next]!) | 0;
    // Both lists end with the same task.
    if ((at === numbers.length) !== (next === tools.length)) return undefined;
    const isSmall = number < 16 * soonOver.length;
    const kind = isSmall
      ? kindOf(number & 15, soonOver[number >> 4]!)
      : kindOf(number % 16, classOf(Math.floor(number / 16)));
    if (kind === undefined) return undefined;
    let own = known.get(hash);
    if (!own) {
      own = { name: tools.subarray(from, next), counts: new Uint32Array(kinds), used: [] };
      known.set(hash, own);
    } else if (!isAt(tools, from, next, own.name)) return undefined;
    if (own.counts[kind]!++ === 0) own.used.push(kind);
    at++;
    next++;
  }
  // A tool without a name at the end of its list.
  if (at <= numbers.length) return undefined;
  return [...known.values()].map(toSums);
}

function toSums({ name, counts, used }: OfTool): EndedSums {
  return {
    tool: decoder.decode(name),
    kinds: Uint16Array.from(used),
    counts: Uint32Array.from(used, (kind) => counts[kind]!),
  };
}

function isAt(bytes: Uint8Array, from: number, until: number, name: Uint8Array): boolean {
  if (until - from !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (bytes[from + i] !== name[i]) return false;
  return true;
}
