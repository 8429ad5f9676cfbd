/** A gateway in this process. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { configIn } from '../../src/gateway/config/config.ts';
import { parseConfig } from '../../src/gateway/config/config-file.ts';
import { Gateway } from '../../src/gateway/gateway-server.ts';
import { serveHttp } from '../../src/server/http/serve.ts';
import { sqlite } from '../../src/sqlite.ts';
import { temporaryFolder } from '../kit/lifetime.ts';
import { linesOf } from '../kit/text.ts';

const require = createRequire(import.meta.url);

export const everything = {
  command: process.execPath,
  args: [require.resolve('@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'],
};

export type Stage = Awaited<ReturnType<typeof openGateway>>;

export async function openGateway(config: object, store = 'memory:') {
  const gateway = new Gateway({
    config: configIn(parseConfig(JSON.stringify(config, null, 2), 'holdfast.json')),
    version: '0.0.0',
    // Upstreams start slowly while other tests run.
    startMs: 100_000,
    store: sqlite(store),
  });
  const server = await serveHttp(gateway.tasks, gateway.serverFor, { port: 0, stopOn: [] });
  gateway.notifier = server.handler.notify;
  await gateway.work();
  return {
    url: new URL(server.url),
    gateway,
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await gateway.close();
    },
  };
}

const toyFile = join(import.meta.dirname, 'servers/toy.ts');
export const toyWith = (...args: string[]) => ({ ...toy, args: [...toy.args, ...args] });
export const toy = { command: process.execPath, args: ['--disable-warning=ExperimentalWarning', toyFile] };

export function notes(): { readonly file: string; lines(): string[] } {
  const file = join(temporaryFolder(), 'notes');
  return { file, lines: () => linesOf(file) };
}
