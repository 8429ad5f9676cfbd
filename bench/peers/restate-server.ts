/** Starts the server of Restate on 127.0.0.1, with its data in a folder of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../test/kit/port.ts';

export interface RestateUrls {
  readonly ingress: string;
  readonly admin: string;
}

const packaged = `node_modules/@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`;
const program = join(import.meta.dirname, packaged);

export function hasRestateServer(): boolean {
  return existsSync(program);
}

export async function startRestate(folder: string): Promise<{ urls: RestateUrls; stop(): Promise<void> }> {
  const [ingress, admin, internal] = [await freePort(), await freePort(), await freePort()];
  const child = spawn(
    program,
    ['--no-logo', '--listen-mode', 'tcp', '--bind-ip', '127.0.0.1', '--bind-port', String(internal)],
    {
      env: {
        ...process.env,
        RESTATE_ADVERTISED_HOST: '127.0.0.1',
        RESTATE_BASE_DIR: folder,
        RESTATE_NODE_NAME: 'bench',
        RESTATE_INGRESS__BIND_PORT: String(ingress),
        RESTATE_ADMIN__BIND_PORT: String(admin),
        RESTATE_DISABLE_TELEMETRY: 'true',
        RESTATE_LOG_FILTER: 'error',
      },
      stdio: 'ignore',
    },
  );
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  const urls = { ingress: `http://127.0.0.1:${ingress}`, admin: `http://127.0.0.1:${admin}` };
  const stop = async () => {
    process.off('exit', kill);
    kill();
    await ended;
  };
  const isHealthy = async (url: string) => (await fetch(url)).ok;
  for (let tries = 0; tries < 600; tries++) {
    const healthy = [`${urls.admin}/health`, `${urls.ingress}/restate/health`].map(isHealthy);
    if ((await Promise.all(healthy).catch(() => [false])).every(Boolean)) return { urls, stop };
    if (child.exitCode !== null) throw new Error(`The server of Restate ended with ${child.exitCode}.`);
    await pause(100);
  }
  await stop();
  throw new Error('The server of Restate was not ready within a minute.');
}
