/** What operators ask of a process, beside MCP: is it alive, does it take work, what has it counted. No token is asked. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HoldfastError } from '../../model/errors.ts';
import type { Tasks } from '../tasks.ts';

export interface OperationsOptions {
  /** Where Prometheus finds what was counted, such as `'/metrics'`. Needs `createTasks({ telemetry })`. By default nowhere. */
  readonly metrics?: string;
  /** Answers `/healthz` (the process answers) and `/readyz` (the store can be read and written, and nothing stops). Default false. */
  readonly health?: boolean;
}

export class NothingCounted extends HoldfastError {
  constructor(path: string) {
    super(
      `There is nothing to show at ${path}: give createTasks({ telemetry: telemetry() }) of holdfast/telemetry.`,
    );
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
}

const prometheus = 'text/plain; version=0.0.4; charset=utf-8';

export class Operations {
  readonly #answers = new Map<string, () => Promise<Answer>>();
  #isDraining = false;

  constructor(tasks: Tasks, { metrics: path, health = false }: OperationsOptions) {
    if (health) {
      this.#answers.set('/healthz', async () => ({ status: 200, text: 'ok\n' }));
      this.#answers.set('/readyz', () => this.#readiness(tasks));
    }
    if (path === undefined) return;
    const { metrics } = tasks.observer;
    if (!metrics) throw new NothingCounted(path);
    this.#answers.set(path, async () => ({ status: 200, text: await metrics(), type: prometheus }));
  }

  answers({ url }: IncomingMessage): boolean {
    return this.#answers.has(pathOf(url));
  }

  serve(req: IncomingMessage, res: ServerResponse): void {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    this.#answers.get(pathOf(req.url))!()
      .catch((): Answer => ({ status: 500, text: 'It cannot be told.\n' }))
      .then(({ status, text, type = 'text/plain; charset=utf-8' }) => {
        res.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text);
      });
  }

  /** From here on no new work should be sent. */
  drain(): void {
    this.#isDraining = true;
  }

  async #readiness(tasks: Tasks): Promise<Answer> {
    if (this.#isDraining) return { status: 503, text: 'stopping\n' };
    if (tasks.storeHealth.failure) return { status: 503, text: 'the store cannot be written\n' };
    try {
      await (await tasks.served()).store.get('');
      return { status: 200, text: 'ok\n' };
    } catch {
      // What is wrong with the store is for the logs, not for whoever asks.
      return { status: 503, text: 'the store cannot be read\n' };
    }
  }
}

function pathOf(url = ''): string {
  const [path = ''] = url.split('?', 1);
  return path;
}
