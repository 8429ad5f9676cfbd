/** A server that is killed and started again, on the same port and store. */
import { sources } from '../kit/process.ts';
import { ServerProcess } from '../kit/server-process.ts';
import type { ServerSettings } from '../serving/server.ts';

export function startServer(settings: ServerSettings): Promise<ServerProcess> {
  const more = { tools: 'hand-over', concurrency: 64 };
  const command = (port: string) =>
    sources(
      `${import.meta.dirname}/../serving/server.ts`,
      JSON.stringify({ ...settings, ...more, port: Number(port) }),
    );
  return new ServerProcess(command).start();
}
