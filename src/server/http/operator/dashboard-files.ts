/**
 * Serves the built files of the dashboard. They contain no task data. Their content security policy allows only scripts
 * and requests of this server.
 */
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the built files. The relative path is the same from `src/` and from `dist/`. */
const built = fileURLToPath(new URL('../../../../dashboard/dist/', import.meta.url));

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Also for answers of the API: browsers must not guess another content type, send referrers, or share with other sites.
 */
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
<p>In a checkout of Holdfast, run <code>npm run prepare</code>, then reload this page. The API works without the dashboard: see
docs/dashboard.md.</p>
</html>
`;

/** The file at a path relative to the dashboard's own, such as `assets/index.js`; `''` is the start page. */
export async function dashboardFile(path: string, folder = built): Promise<Response> {
  const name = path === '' ? 'index.html' : path;
  const bytes = await readIn(folder, name);
  if (bytes) return found(name, bytes);
  if (name === 'index.html') return found(name, Buffer.from(notBuilt), 503);
  return new Response('File not found.\n', {
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
      // The name of an asset contains a hash of its content, so it can be cached permanently.
      'cache-control': isAsset ? 'public, max-age=31536000, immutable' : 'no-store',
    },
  });
}

async function readIn(folder: string, name: string): Promise<Buffer | undefined> {
  // Accept only names that a build creates, and no path out of the folder.
  if (!/^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(name)) return undefined;
  return readFile(join(folder, name)).catch(() => undefined);
}
