/** A server that says exactly what it is told, and the client that it speaks to: the client is what is tested. */
import { Client, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import { type ConnectTasksOptions, connectTasks, type Question, type TaskClient } from 'holdfast/client';
import { onTestFinished } from 'vitest';
import { temporaryFile } from '../kit/lifetime.ts';
import { until, untilStatus } from '../kit/until.ts';
import type { Message } from '../kit/wire.ts';
import type { Listening } from './http-server.ts';

export const relatedTask = 'io.modelcontextprotocol/related-task';

export type { Message } from '../kit/wire.ts';

export interface RawServerOptions {
  readonly name?: string;
  readonly capabilities?: object;
  readonly protocolVersion?: string;
}

export class RawServer {
  /** All that the client said, in order. */
  readonly heard: Message[] = [];
  readonly #isOpen = Promise.withResolvers<void>();
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

  /** Resolves when something can be said. */
  get isOpen(): Promise<void> {
    return this.#isOpen.promise;
  }

  #greeting(): object {
    const { name = 'asker', capabilities = {}, protocolVersion = '2025-11-25' } = this.#options;
    return { protocolVersion, capabilities, serverInfo: { name, version: '1' } };
  }

  say(message: object): void {
    this.#say({ jsonrpc: '2.0', ...message });
  }

  /** Says a request, and gives its id. */
  ask(method: string, params: object = {}): string {
    const id = `s${++this.#lastId}`;
    this.say({ id, method, params });
    return id;
  }

  answerTo(id: string): Promise<Message> {
    return this.until((message) => message.id === id && message.method === undefined);
  }

  request(method: string, params: object = {}): Promise<Message> {
    return this.answerTo(this.ask(method, params));
  }

  /** The first message that fits, whenever it comes. */
  async until(fits: (message: Message) => boolean): Promise<Message> {
    await until(() => this.heard.some(fits));
    return this.heard.find(fits)!;
  }

  notified(method: string, times = 1): Promise<Message> {
    return this.until(
      (message) =>
        message.method === method &&
        this.heard.filter((one) => one.method === method).indexOf(message) === times - 1,
    );
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

  /** Resolves when so many questions have been put. */
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

export const accepted = { action: 'accept', content: { name: 'Kelp' } };

export interface Met {
  readonly server: RawServer;
  readonly person: Person;
  readonly tasks: TaskClient;
}

/** A client that is connected to such a server until the end of the test. */
export async function meet(
  options: Partial<ConnectTasksOptions> & {
    readonly says?: RawServerOptions;
    readonly at?: Listening;
  } = {},
): Promise<Met> {
  const { says, at, ...more } = options;
  const server = at?.server ?? new RawServer(says);
  const person = new Person();
  const client = new Client({ name: 'host', version: '1' });
  const tasks = await connectTasks(client, at?.url ?? server.open, {
    handles: 'memory:',
    hosts: 'memory:',
    answers: ['form', 'sampling'],
    answer: person.answer,
    ...more,
  } as ConnectTasksOptions);
  onTestFinished(() => tasks.close());
  if (at) await server.isOpen;
  return { server, person, tasks };
}

/** Has the client make a task of a question. */
export async function entrust(server: RawServer, task: object = {}): Promise<Message> {
  return (await server.request('elicitation/create', { ...form, task })).result.task;
}

export function flags(...drafts: readonly string[]): RawServerOptions {
  return { capabilities: { experimental: Object.fromEntries(drafts.map((draft) => [draft, {}])) } };
}
