/** What the demo serves beside MCP: a page that shows its tasks, and what the page reads. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Tasks } from '../../server/tasks.ts';
import { overview } from './overview.ts';
import { type PageWords, page } from './page.ts';

export function web(
  tasks: Tasks,
  words: () => Promise<PageWords>,
): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => {
    answer(tasks, words, req, res).catch(() => {
      if (res.headersSent) res.destroy();
      else send(res, 500, 'text/plain', 'The tasks cannot be read at present.\n');
    });
  };
}

async function answer(
  tasks: Tasks,
  words: () => Promise<PageWords>,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const [path] = (req.url ?? '/').split('?');
  if (path !== '/' && path !== '/tasks.json')
    return send(res, 404, 'text/plain', 'There is nothing here. MCP is at /mcp, the page at /.\n');
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.setHeader('allow', 'GET, HEAD');
    return send(res, 405, 'text/plain', 'This can only be read.\n');
  }
  if (path === '/tasks.json')
    return send(res, 200, 'application/json', JSON.stringify(await overview(tasks)));
  const nonce = randomBytes(16).toString('base64');
  res.setHeader(
    'content-security-policy',
    [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  );
  send(res, 200, 'text/html; charset=utf-8', page(nonce, await words()));
}

function send(res: ServerResponse, status: number, type: string, body: string): void {
  res.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
  });
  res.end(body);
}
