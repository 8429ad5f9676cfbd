/** JSON on stdout: for programs, but somebody may look at it. */

/** `JSON.stringify` leaves some characters as they are that steer terminals, or turn the direction of what follows. */
const steering = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

export function jsonText(value: unknown, indent?: number): string {
  return escaped(JSON.stringify(value, undefined, indent));
}

/** The same JSON, with these characters written as numbers. They can only stand in strings. */
export function escaped(json: string): string {
  return json.replace(steering, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function printJson(value: unknown): void {
  console.log(jsonText(value));
}
