/** A server that is killed and started again, on the same port and store. */
import { sources } from '../kit/process.ts';
import { ServerProcess } from '../kit/server-process.ts';
import type { ServerSettings } from './server.ts';

export function startServer(settings: ServerSettings): Promise<ServerProcess> {
  const command = (port: string) =>
    sources(`${import.meta.dirname}/server.ts`, JSON.stringify({ ...settings, port: Number(port) }));
  return new ServerProcess(command).start();
}
