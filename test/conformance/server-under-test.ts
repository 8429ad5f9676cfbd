/** The fixture server as a process of its own, with every dialect on, for as long as it is under test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const main = join(import.meta.dirname, '../fixture/main.ts');

export interface ServerUnderTest extends AsyncDisposable {
  readonly url: string;
}

export async function startServer(...options: readonly string[]): Promise<ServerUnderTest> {
  const args = ['--conditions=holdfast-source', '--disable-warning=ExperimentalWarning', main];
  const words = ['--port', '0', '--store', 'memory:', '--drafts', ...options];
  const child = spawn(process.execPath, [...args, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  // The suite sends much that has to be refused; what the server says of it matters only if it does not start.
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (complaints.length < 10_000) complaints += text;
  });
  const closed = once(child, 'close');
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line').then(([text]) => text as string),
    closed.then(() => ''),
  ]);
  const [, url] = /^ready (.+)$/.exec(line) ?? [];
  if (url === undefined) {
    kill();
    throw new Error(`The fixture server did not start. ${line}${complaints}`);
  }
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await closed;
      process.off('exit', kill);
    },
  };
}
