/** Images, sounds and files in base64. Only the listed types are shown. */

/** SVG is safe because it is shown only by `<img>`, where it can neither run scripts nor load anything. */
const images = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'image/svg+xml',
]);
const sounds = new Set([
  'audio/mpeg',
  'audio/mp3',
  'audio/wav',
  'audio/wave',
  'audio/x-wav',
  'audio/ogg',
  'audio/webm',
  'audio/mp4',
  'audio/aac',
  'audio/flac',
]);

export function canShow(kind: 'image' | 'audio', mimeType: string): boolean {
  return (kind === 'image' ? images : sounds).has(essence(mimeType));
}

function essence(mimeType: string): string {
  return mimeType.split(';')[0]!.trim().toLowerCase();
}

/**
 * Gives a `data:` URL. Opened on its own it has no origin, so even an SVG cannot access ours.
 * Undefined if the type is not on the list, or the bytes are not base64.
 */
export function shownAs(kind: 'image' | 'audio', mimeType: string, base64: string): string | undefined {
  const bytes = standardBase64(base64);
  return canShow(kind, mimeType) && bytes ? `data:${essence(mimeType)};base64,${bytes}` : undefined;
}

function standardBase64(text: string): string | undefined {
  const bytes = text.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/');
  return bytes !== '' && /^[A-Za-z\d+/]+={0,2}$/.test(bytes) ? bytes : undefined;
}

/** A file to save. Its type is always generic, because a browser could open and run a more specific one. */
export function savedAs(base64: string): Blob | undefined {
  const bytes = standardBase64(base64);
  if (!bytes) return undefined;
  try {
    const parts = Uint8Array.from(atob(bytes), (character) => character.charCodeAt(0));
    return new Blob([parts], { type: 'application/octet-stream' });
  } catch {
    return undefined;
  }
}

/** The number of bytes that the text encodes. */
export function sizeOf(base64: string): number {
  const characters = base64.replace(/[\s=]+/g, '').length;
  return Math.floor((characters * 3) / 4);
}
