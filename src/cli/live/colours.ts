/** Colours, or none: `NO_COLOR`, `--no-color`, and whatever is no terminal have none. */
export type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';

const codes: Readonly<Record<Colour, readonly [number, number]>> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
  dim: [2, 22],
  bold: [1, 22],
};

export type Paint = (colour: Colour, text: string) => string;

export function paintWith(hasColours: boolean): Paint {
  if (!hasColours) return (_, text) => text;
  return (colour, text) => `\x1b[${codes[colour][0]}m${text}\x1b[${codes[colour][1]}m`;
}

export function wantsColours(isRefused: boolean): boolean {
  return !isRefused && !process.env.NO_COLOR;
}
