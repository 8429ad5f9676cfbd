/**
 * Compresses pictures for the repository. Screens have few colours: 256 of them become a palette, and all others, which
 * only smooth the edges of letters, are replaced by the nearest. The same picture always gives the same bytes.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const maxColours = 256;

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Each as 0xRRGGBB, row by row. */
  readonly colours: Uint32Array;
}

/** Compresses a picture from the browser to a fraction of its size. */
export function smaller(png: Buffer): Buffer {
  const pixels = pixelsOf(png);
  const palette = paletteOf(pixels.colours);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(pixels.width, 0);
  header.writeUInt32BE(pixels.height, 4);
  // Eight bits per pixel, indexed colour.
  header.set([8, 3, 0, 0, 0], 8);
  const lines = Buffer.alloc(pixels.height * (pixels.width + 1));
  const indexOf = indexesIn(palette);
  let last = pixels.colours[0]!;
  let index = indexOf(last);
  pixels.colours.forEach((colour, at) => {
    if (colour !== last) index = indexOf(colour);
    last = colour;
    // Each line starts with its filter type: 0 is none.
    lines[at + Math.floor(at / pixels.width) + 1] = index;
  });
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk(
      'PLTE',
      Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255])),
    ),
    chunk('IDAT', deflateSync(lines, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Reads the PNG format of browsers: three or four channels of eight bits, not interlaced. */
function pixelsOf(png: Buffer): Pixels {
  const data: Buffer[] = [];
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  const colours = new Uint32Array(width * height);
  let above = new Uint8Array(stride);
  for (let y = 0; y < height; y++) {
    const from = y * (stride + 1);
    const line = unfiltered(raw[from]!, raw.subarray(from + 1, from + 1 + stride), above, channels);
    for (let x = 0; x < width; x++) {
      const at = x * channels;
      colours[y * width + x] = (line[at]! << 16) | (line[at + 1]! << 8) | line[at + 2]!;
    }
    above = line;
  }
  return { width, height, colours };
}

/** Reverses one of the five PNG filters. */
function unfiltered(
  filter: number,
  line: Uint8Array,
  above: Uint8Array,
  channels: number,
): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(line.length);
  for (let i = 0; i < line.length; i++) {
    const left = i < channels ? 0 : out[i - channels]!;
    const up = above[i]!;
    const corner = i < channels ? 0 : above[i - channels]!;
    const guess = filter === 3 ? (left + up) >> 1 : filter === 4 ? paeth(left, up, corner) : 0;
    out[i] = line[i]! + (filter === 1 ? left : filter === 2 ? up : guess);
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const toLeft = Math.abs(up - corner);
  const toUp = Math.abs(left - corner);
  const toCorner = Math.abs(left + up - 2 * corner);
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

/** Starts with the most common colour, then adds colours by count times distance to those already chosen. */
function paletteOf(colours: Uint32Array): readonly number[] {
  const counts = new Map<number, number>();
  // Screens have long runs of one colour, so count whole runs.
  for (let from = 0, to = 0; from < colours.length; from = to) {
    const colour = colours[from]!;
    while (colours[to] === colour) to++;
    counts.set(colour, (counts.get(colour) ?? 0) + to - from);
  }
  const left = [...counts]
    .toSorted(([a], [b]) => a - b)
    .map(([colour, count]) => ({ colour, count, far: 1e9 }));
  const palette: number[] = [];
  while (palette.length < maxColours) {
    const missed = left.reduce((a, b) => (b.count * b.far > a.count * a.far ? b : a));
    if (missed.far === 0) break;
    palette.push(missed.colour);
    for (const other of left) other.far = Math.min(other.far, distance(other.colour, missed.colour));
  }
  return palette;
}

function distance(a: number, b: number): number {
  return (
    ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2
  );
}

/** Finds the index of the nearest colour in a palette. */
function indexesIn(palette: readonly number[]): (colour: number) => number {
  const known = new Map(palette.map((colour, index) => [colour, index]));
  return (colour) => {
    const found = known.get(colour);
    if (found !== undefined) return found;
    let nearest = 0;
    let least = Number.POSITIVE_INFINITY;
    palette.forEach((other, index) => {
      const far = distance(colour, other);
      if (far >= least) return;
      least = far;
      nearest = index;
    });
    known.set(colour, nearest);
    return nearest;
  };
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
