/** The dashboard as it was built: a few files that know nothing of any task, under a policy that lets in nothing else. */
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Beside `src/` and `dist/` alike. */
const built = fileURLToPath(new URL('../../../../dashboard/dist/', import.meta.url));

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Answers of the API too: whatever a browser is made to take them for, nothing in them is carried out. */
export const strictHeaders: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  'media-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const notBuilt = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Holdfast</title>
<h1>The dashboard has not been built</h1>
<p>In a checkout of Holdfast, <code>npm run prepare</code> builds it; then load this page again. What it shows can be
read without it: see docs/dashboard.md for the requests.</p>
</html>
`;

/** The file at a path below the dashboard's own, such as `''` or `assets/index.js`. */
export async function dashboardFile(path: string, folder = built): Promise<Response> {
  const name = path === '' ? 'index.html' : path;
  const bytes = await readIn(folder, name);
  if (bytes) return found(name, bytes);
  if (name === 'index.html') return found(name, Buffer.from(notBuilt), 503);
  return new Response('There is no such file.\n', {
    status: 404,
    headers: { ...strictHeaders, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  });
}

function found(name: string, bytes: Buffer, status = 200): Response {
  const isAsset = name.startsWith('assets/');
  return new Response(new Uint8Array(bytes), {
    status,
    headers: {
      ...strictHeaders,
      'content-security-policy': policy,
      'content-type': types[extname(name)] ?? 'application/octet-stream',
      // The name of an asset changes with what is in it.
      'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-store',
    },
  });
}

async function readIn(folder: string, name: string): Promise<Buffer | undefined> {
  // Names as builds make them; what leads anywhere else is no such name.
  if (!/^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(name)) return undefined;
  return readFile(join(folder, name)).catch(() => undefined);
}
