/** Values as people look at them: whole if they are small, and otherwise as much as there is room for. */
import { isJsonObject, type Json } from '../model/json.ts';

interface Room {
  left: number;
}

/**
 * A value of roughly so many characters of JSON at most. No more of it is walked through than is shown, so that a large
 * one costs no more than a small one.
 */
export function shortened(value: Json, most: number): Json {
  const room: Room = { left: most };
  const short = cut(value, room);
  return room.left >= 0 ? value : short;
}

export function isLargerThan(value: Json, most: number): boolean {
  const room: Room = { left: most };
  cut(value, room);
  return room.left < 0;
}

export function shortText(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()}… (${text.length} characters)` : text;
}

function cut(value: Json, room: Room): Json {
  if (typeof value === 'string') {
    const left = Math.max(0, room.left);
    room.left -= value.length + 2;
    return room.left < 0 ? shortText(value, left) : value;
  }
  if (typeof value !== 'object' || value === null) {
    room.left -= String(value).length;
    return value;
  }
  room.left -= 2;
  if (isJsonObject(value)) return cutObject(value, room);
  const parts: Json[] = [];
  const { length } = value as readonly Json[];
  for (const part of value as readonly Json[]) {
    if (room.left < 0) {
      parts.push(`… ${length - parts.length} more`);
      break;
    }
    room.left--;
    parts.push(cut(part, room));
  }
  return parts;
}

function cutObject(object: { readonly [key: string]: Json }, room: Room): Json {
  const parts: [string, Json][] = [];
  // Not Object.entries: that makes a list of all of it first.
  for (const key in object) {
    if (!Object.hasOwn(object, key)) continue;
    if (room.left < 0) {
      parts.push(['…', 'and more']);
      break;
    }
    room.left -= key.length + 4;
    parts.push([shortText(key, 200), cut(object[key]!, room)]);
  }
  return Object.fromEntries(parts);
}
