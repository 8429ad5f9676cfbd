/** A server that says exactly what it is told, and the client that it speaks to: the client is what is tested. */
import { createServer } from 'node:http';
import { Client, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import { type ConnectTasksOptions, connectTasks, type Question } from 'holdfast/client';
import { onTestFinished } from 'vitest';
import { temporaryFile } from '../kit/lifetime.ts';
import { originOf } from '../kit/serve.ts';
import { until, untilStatus } from '../kit/until.ts';
import type { Message } from '../kit/wire.ts';

export const relatedTask = 'io.modelcontextprotocol/related-task';

export type { Message } from '../kit/wire.ts';

export interface RawServerOptions {
  readonly name?: string;
  readonly capabilities?: object;
  readonly protocolVersion?: string;
}

export class RawServer {
  readonly heard: Message[] = [];
  readonly #isOpen = Promise.withResolvers<void>();
  /** Resolves when something can be said. */
  readonly isOpen = this.#isOpen.promise;
  #options: RawServerOptions;
  #say = (message: object) => this.#transport?.onmessage?.(message as JSONRPCMessage);
  #transport: Transport | undefined;
  #lastId = 0;
  /** Answers requests of the client that are not about the opening. */
  answer: (request: Message) => object | undefined = () => ({ result: {} });

  constructor(options: RawServerOptions = {}) {
    this.#options = options;
  }

  /** Another connection to the same server. */
  readonly open = (): Transport => {
    const transport: Transport = {
      start: async () => {},
      close: async () => transport.onclose?.(),
      send: async (message) => this.hear(message as Message),
    };
    this.#transport = transport;
    return transport;
  };

  /** Its URL, on a port: what it says goes out on the stream that belongs to no request. */
  async listen(): Promise<string> {
    const http = createServer(async (request, response) => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        return this.speakThrough((said) => response.write(`data: ${JSON.stringify(said)}\n\n`));
      }
      if (request.method !== 'POST') return void response.writeHead(200).end();
      const message = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Message;
      const isRequest = message.method !== undefined && message.id !== undefined;
      if (isRequest)
        response.setHeader('mcp-session-id', 'the-session').setHeader('content-type', 'application/json');
      else response.writeHead(202).end();
      this.hear(message, (answer) => response.end(JSON.stringify({ jsonrpc: '2.0', ...answer })));
    });
    return `${await originOf(http)}/mcp`;
  }

  /** As if the connection broke. */
  drop(): void {
    const lost = this.#transport;
    this.#transport = undefined;
    lost?.onclose?.();
  }

  hear(message: Message, reply = (answer: object) => this.say(answer)): void {
    this.heard.push(message);
    if (message.method === undefined || message.id === undefined) return;
    const answer = message.method === 'initialize' ? { result: this.#greeting() } : this.answer(message);
    if (answer) setImmediate(() => reply({ id: message.id, ...answer }));
  }

  rename(name: string): void {
    this.#options = { ...this.#options, name };
  }

  /** From now on what is said goes there. */
  speakThrough(say: (message: object) => void): void {
    this.#say = say;
    this.#isOpen.resolve();
  }

  #greeting(): object {
    const { name = 'asker', capabilities = {}, protocolVersion = '2025-11-25' } = this.#options;
    return { protocolVersion, capabilities, serverInfo: { name, version: '1' } };
  }

  say(message: object): void {
    this.#say({ jsonrpc: '2.0', ...message });
  }

  ask(method: string, params: object = {}): string {
    const id = `s${++this.#lastId}`;
    this.say({ id, method, params });
    return id;
  }

  answerTo(id: string): Promise<Message> {
    return this.#nth((message) => message.id === id && message.method === undefined);
  }

  request(method: string, params: object = {}): Promise<Message> {
    return this.answerTo(this.ask(method, params));
  }

  notified(method: string, times = 1): Promise<Message> {
    return this.#nth((message) => message.method === method, times);
  }

  /** Of the messages that fit, the first or a later one, whenever it comes. */
  async #nth(fits: (message: Message) => boolean, nth = 1): Promise<Message> {
    const found = () => this.heard.filter(fits)[nth - 1];
    await until(found);
    return found()!;
  }

  untilStatus(taskId: string, status: string): Promise<Message> {
    return untilStatus(() => this.request('tasks/get', { taskId }), status);
  }
}

/** Somebody who is asked, and answers when the test wants. */
export class Person {
  readonly asked: { question: Question; signal: AbortSignal }[] = [];
  readonly #answers: PromiseWithResolvers<object>[] = [];

  readonly answer = (question: Question, signal: AbortSignal): Promise<never> => {
    const answering = Promise.withResolvers<object>();
    this.#answers.push(answering);
    this.asked.push({ question, signal });
    return answering.promise as Promise<never>;
  };

  async wasAsked(times = 1): Promise<Question> {
    await until(() => this.asked.length >= times);
    return this.asked[times - 1]!.question;
  }

  async says(answer: object, nth = 1): Promise<void> {
    await this.wasAsked(nth);
    this.#answers[nth - 1]!.resolve(answer);
  }

  async fails(error: Error, nth = 1): Promise<void> {
    await this.wasAsked(nth);
    this.#answers[nth - 1]!.reject(error);
  }
}

/** A database that several clients open, until the end of the test. */
export function sharedStore(): string {
  return `sqlite:${temporaryFile()}`;
}

export const form = {
  message: 'What is your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
};

export const accepted = { action: 'accept', content: { name: 'Kelp' } } as const;

export type Met = Awaited<ReturnType<typeof meet>>;

export async function meet({
  says,
  isOnAPort = false,
  ...more
}: Partial<ConnectTasksOptions> & { says?: RawServerOptions; isOnAPort?: boolean } = {}) {
  const server = new RawServer(says);
  const person = new Person();
  const client = new Client({ name: 'host', version: '1' });
  const tasks = await connectTasks(client, isOnAPort ? await server.listen() : server.open, {
    registry: 'memory:',
    hostedTasks: 'memory:',
    answers: ['form', 'sampling'],
    answer: person.answer,
    ...more,
  } as ConnectTasksOptions);
  onTestFinished(() => tasks.close());
  if (isOnAPort) await server.isOpen;
  return { server, person, tasks };
}

/** Has the client make a task of a question. */
export async function entrust(server: RawServer, task: object = {}): Promise<Message> {
  return (await server.request('elicitation/create', { ...form, task })).result.task;
}

export function flags(...drafts: readonly string[]): RawServerOptions {
  return { capabilities: { experimental: Object.fromEntries(drafts.map((draft) => [draft, {}])) } };
}
