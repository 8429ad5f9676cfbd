/** A server of the operator API with tasks from the test and a fixed clock, for screens. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  apiPath,
  type ChangeMessage,
  type OverviewReport,
  type TaskDetails,
  type TaskSummary,
} from '../../../src/operator/api.ts';
import { listen } from '../../kit/port.ts';
import { now } from './stories.ts';

export const token = 'a token for those who operate this';

export class OperatorServer {
  tasks: readonly TaskSummary[] = [];
  stories = new Map<string, TaskDetails>();
  overview: Partial<OverviewReport> = {};
  /** The requests with their bodies, without the path of the API. */
  readonly requests: string[] = [];
  /** The number of tasks that it counts but does not list. */
  unlisted = 0;
  /** Present to answer every request with this function, such as a failure. */
  answersWith: ((response: ServerResponse) => void) | undefined;
  readonly #streams = new Set<ServerResponse>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #port = 0;

  async start(): Promise<this> {
    this.#port = await listen(this.#server, this.#port);
    return this;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get listeners(): number {
    return this.#streams.size;
  }

  /** Sets the details of a task. */
  set story(story: TaskDetails) {
    this.stories.set(story.task.id, story);
  }

  send(message: ChangeMessage): void {
    const words = `id: ${message.id}\nevent: ${message.type}\ndata: ${JSON.stringify(message)}\n\n`;
    for (const stream of this.#streams) stream.write(words);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, this.url);
    const body = request.method === 'POST' ? await text(request) : '';
    const path = url.pathname.slice(apiPath.length);
    const resumed = request.headers['last-event-id'];
    this.requests.push(
      [request.method, path + url.search, body, resumed ? `after ${resumed}` : ''].join(' ').trim(),
    );
    const respond = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (this.answersWith) return this.answersWith(response);
    if (!url.pathname.startsWith(apiPath)) return void response.writeHead(404).end('Nothing here.');
    if (request.headers.authorization !== `Bearer ${token}`)
      return void respond(401, { error: { message: 'Show a good token.' } });
    if (path === '/changes') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
      this.#streams.add(response);
      response.on('close', () => this.#streams.delete(response));
      return;
    }
    const found = this.#found(path, url.searchParams);
    if (found === undefined) return void respond(404, { error: { message: 'There is no such task.' } });
    respond(200, found);
  }

  #found(path: string, query: URLSearchParams): unknown {
    const [, what, id, act] = path.split('/');
    if (what === 'about') return { version: '0.0.0', now, tools: ['publish_report'], audit: false };
    if (what === 'overview') return this.#overviewed();
    const text = query.get('text') ?? '';
    const statuses = query.getAll('status');
    const listed = this.tasks.filter(
      ({ id, status }) => id.includes(text) && (statuses.length === 0 || statuses.includes(status)),
    );
    if (what === 'count') return { count: listed.length + this.unlisted, isMore: false };
    if (what !== 'tasks') return undefined;
    if (id === undefined) {
      const from = Number(query.get('cursor') ?? 0);
      const to = from + Number(query.get('limit') ?? 50);
      const isMore = to < listed.length || this.unlisted > 0;
      return { tasks: listed.slice(from, to), ...(isMore && { nextCursor: String(to) }) };
    }
    const story = this.stories.get(id);
    if (act === undefined) return story;
    return act === 'result' ? story?.outcome : story?.task;
  }

  #overviewed(): OverviewReport {
    const ended = { completed: 130, failed: 2, cancelled: 1, lost: 1, medianMs: 1_200, p95Ms: 90_000 };
    return {
      live: { queued: 1, running: 1, waiting: 1 },
      readySince: null,
      ended,
      buckets: [],
      tools: [],
      now,
      since: now - 3_600_000,
      until: now,
      waiting: this.tasks.filter(({ status }) => status === 'waiting'),
      failing: this.tasks.filter(({ status }) => status === 'failed' || status === 'lost'),
      ...this.overview,
    };
  }
}
