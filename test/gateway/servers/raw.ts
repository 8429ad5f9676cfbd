/**
 * A server without an SDK, to do what SDKs prevent. It speaks 2025-11-25, or 2026-07-28 with `--modern`. It has prompts
 * only after a restart.
 *
 * - `--starts FILE`: writes a line at each start
 * - `--strict`: exits on any request before `initialize`
 * - `--restless`: a tool `late` appears during the first `tools/list`
 * - `--chatty`: reports changed tools, and has one more, at each `tools/list`
 * - `--calls FILE`: writes a line for each call
 * - `--flaky`: the second and third start fail
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    calls: { type: 'string' },
    chatty: { type: 'boolean' },
    flaky: { type: 'boolean' },
    modern: { type: 'boolean' },
    restless: { type: 'boolean' },
    starts: { type: 'string' },
    strict: { type: 'boolean' },
    tools: { type: 'string' },
  },
});

const isStartedAgain = values.starts !== undefined && existsSync(values.starts);
if (values.starts) appendFileSync(values.starts, `started ${process.pid}\n`);
if (values.flaky && [2, 3].includes(readFileSync(values.starts!, 'utf8').trim().split('\n').length))
  process.exit(1);

const tools: { name: string; inputSchema: object }[] = JSON.parse(values.tools ?? '["pid"]').map(
  (tool: unknown) => (typeof tool === 'string' ? { name: tool, inputSchema: { type: 'object' } } : tool),
);
/** Malformed answers of the tools with these names. */
const malformed: Readonly<Record<string, object>> = {
  nothing: {},
  text: { result: 'text' },
  error: { error: { code: 'text' } },
};
const changed = { method: 'notifications/tools/list_changed' };
let isInitialized = false;

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (values.strict && !isInitialized && method !== 'initialize') {
    console.error('expected initialize');
    process.exit(1);
  }
  if (id === undefined) return;
  if (method === 'tools/list' && values.chatty) {
    tools.push({ name: `at_${Math.floor(performance.now())}`, inputSchema: { type: 'object' } });
    send(changed);
  }
  const answer = { id, ...answerTo(method, params) };
  if (method !== 'tools/list' || !values.restless || tools.some(({ name }) => name === 'late'))
    return send(answer);
  tools.push({ name: 'late', inputSchema: { type: 'object' } });
  send(changed);
  // Longer than the debounce of the notification.
  setTimeout(() => send(answer), 500);
});

function answerTo(method: string, params: { name: string }): object {
  switch (values.modern && method === 'initialize' ? 'none' : method) {
    case 'server/discover':
      if (!values.modern) break;
      return complete({
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: 'private',
      });
    case 'initialize':
      isInitialized = true;
      return {
        result: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: { listChanged: true }, ...(isStartedAgain && { prompts: {} }) },
          serverInfo: { name: 'raw', version: '1.0.0' },
        },
      };
    case 'prompts/list':
      return complete({ prompts: [{ name: 'greet' }] });
    case 'tools/list':
      return complete({ tools, ttlMs: 0, cacheScope: 'private' });
    case 'tools/call':
      if (values.calls) appendFileSync(values.calls, `${params.name}\n`);
      if (params.name === 'crash') process.exit(1);
      if (params.name === 'environment')
        return complete({ content: [{ type: 'text', text: JSON.stringify(process.env) }] });
      if (params.name in malformed) return malformed[params.name]!;
      if (params.name === 'large')
        return complete({ content: [{ type: 'text', text: 'x'.repeat(11_000_000) }] });
      return complete({ content: [{ type: 'text', text: `${params.name} ${process.pid}` }] });
  }
  return { error: { code: -32_601, message: `Method not found: ${method}` } };
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function complete(result: object): object {
  return { result: values.modern ? { resultType: 'complete', ...result } : result };
}
