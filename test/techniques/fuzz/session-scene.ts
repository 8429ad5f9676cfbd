/** A session under fire: what it holds, what is made for a message just before it is sent, and whether all is well. */
import { accept, rightAnswers } from './answers.ts';
import type { Front } from './campaign.ts';
import type { BadMessage, Draft, Method } from './draft.ts';
import type { Answer } from './oracle.ts';
import type { Loose } from './requests.ts';
import {
  fresh,
  relatedKey,
  type SessionDialect,
  type SessionFacts,
  sessionMethods,
  taskKey,
} from './session-methods.ts';
import { greetingProblems, hasEnded, shownOnce } from './stage.ts';
import { freshName, PipeTalk, type Talk, withOwnId } from './talk.ts';

/** Where the second page of a list of tasks begins, once enough of them have begun. */
export async function secondPage(list: () => Promise<Loose>, begin: () => Promise<unknown>): Promise<string> {
  for (;;) {
    const { nextCursor } = await list();
    if (nextCursor !== undefined) return nextCursor;
    await Promise.all(Array.from({ length: 51 }, begin));
  }
}

/** What was made for one message, and how to be rid of it. */
interface Made {
  readonly value: string;
  readonly release?: () => Promise<unknown>;
}

export class SessionScene implements Front {
  readonly isPipe: boolean;
  methods!: readonly Method[];
  readonly #talk: Talk;
  readonly #dialect: SessionDialect;
  #waiting = '';

  private constructor(talk: Talk, dialect: SessionDialect) {
    this.#talk = talk;
    this.#dialect = dialect;
    this.isPipe = talk instanceof PipeTalk;
  }

  /** `unseen` are tasks that this session may not see, whoever they belong to. */
  static async set(
    talk: Talk,
    dialect: SessionDialect,
    unseen: readonly string[],
    otherCursor: string,
  ): Promise<SessionScene> {
    const scene = new SessionScene(talk, dialect);
    const done = await scene.#begun('throws');
    await scene.#until(done, hasEnded);
    const waiting = await scene.#begun('ask_name');
    await scene.#until(waiting, ({ status }) => status === 'input_required');
    scene.#waiting = waiting;
    const cursor = await secondPage(
      () => talk.ask('tasks/list', scene.#about(undefined)),
      () => scene.#begun('nap', { ms: 0 }),
    );
    const wrongCursors = [otherCursor, cursor.slice(1), `${cursor}A`, cursor.toLowerCase()];
    const { headers } = talk;
    const facts: SessionFacts = { dialect, headers, waiting, done, unseen, cursor, wrongCursors };
    scene.methods = sessionMethods(facts, !scene.isPipe);
    return scene;
  }

  /** Sends a message, with what it needs made before, and unmade after. */
  async send(bad: BadMessage): Promise<Answer> {
    const { draft } = withOwnId(bad);
    const text = JSON.stringify([draft.message, draft.body?.toString('latin1')]);
    const made: Made[] = [];
    try {
      for (const [what, placeholder] of Object.entries(fresh)) {
        if (!text.includes(placeholder)) continue;
        const one = await this.#made[what as keyof typeof fresh]();
        made.push(one);
        fill(draft, placeholder, one.value);
      }
      return await this.#talk.send(bad);
    } finally {
      for (const { release } of made) await release?.();
    }
  }

  async damage(): Promise<string[]> {
    const problems = await greetingProblems((method, params) => this.#talk.ask(method, params));
    const { status } = await this.#talk.ask('tasks/get', this.#about(this.#waiting));
    if (status !== 'input_required') problems.push(`the task that waited is ${status}`);
    return problems.map((problem) => `${this.#dialect.name}: ${problem}`);
  }

  /** After all, a task still goes its way from a call through a question to a result. */
  async finish(): Promise<string[]> {
    const { content } = this.#dialect.drafts.includes('sep-2339')
      ? await this.#continued()
      : await (await this.#asking(accept({ name: 'Ada' }))).outcome;
    return content[0].text === 'Hello, Ada!'
      ? []
      : [`${this.#dialect.name}: it ended with ${content[0].text}`];
  }

  async #continued(): Promise<Loose> {
    const answers = { taskId: this.#waiting, inputResponses: rightAnswers.ask_name };
    await this.#talk.ask('tasks/continue', answers);
    return (await this.#until(this.#waiting, hasEnded)).result;
  }

  #about(taskId: string | undefined): Loose {
    const id = taskId === undefined ? {} : { taskId };
    return { ...id, ...(this.#dialect.namesTasks && { _meta: { [relatedKey]: id } }) };
  }

  #until(taskId: string, isSo: (shown: Loose) => boolean): Promise<Loose> {
    return shownOnce((method, params) => this.#talk.ask(method, params), this.#about(taskId), isSo);
  }

  readonly #made: Record<keyof typeof fresh, () => Promise<Made>> = {
    name: async () => ({ value: freshName('name') }),
    task: async () => {
      const { namesTasks } = this.#dialect;
      const value = await this.#begun('nap', { ms: namesTasks ? 0 : 3_600_000 });
      const method = namesTasks ? 'tasks/delete' : 'tasks/cancel';
      // Unless that is just what was done.
      return { value, release: () => this.#talk.ask(method, this.#about(value)).catch(() => {}) };
    },
    question: async () => {
      const { question, withdraw } = await this.#asking();
      return { value: question, release: withdraw };
    },
  };

  /** Calls a tool as a task, and gives what the session knows it by. */
  async #begun(name: string, args: Loose = {}): Promise<string> {
    const call = { name, arguments: args };
    if (!this.#dialect.namesTasks)
      return (await this.#talk.ask('tools/call', { ...call, task: {} })).task.taskId;
    const taskId = freshName('begun');
    // What asks is not answered before it is; what does not ask is over by then.
    const over = this.#talk.ask('tools/call', { ...call, _meta: { [taskKey]: { taskId } } });
    await this.#talk.heard(
      (message) => isQuestionOf(message, taskId),
      over.catch(() => {}),
    );
    return taskId;
  }

  /** A task that asks for a name; `answer`, or later a refusal, brings it to its end. */
  async #asking(answer?: Loose) {
    const { namesTasks } = this.#dialect;
    const taskId = namesTasks ? freshName('asking') : await this.#begun('ask_name');
    const put = Promise.withResolvers<string>();
    const reply = (id: string) =>
      void this.#talk.tell({ id, result: answer ?? { action: 'decline' } }).catch(() => {});
    let mayReply = answer !== undefined;
    // Whichever stream it is put on: that of the request, or the one that belongs to none.
    const hear = (message: Loose) => {
      if (!isQuestionOf(message, taskId)) return;
      put.resolve(message.id);
      if (mayReply) reply(message.id);
    };
    this.#talk.hearers.add(hear);
    const call = { name: 'ask_name', arguments: {}, _meta: { [taskKey]: { taskId } } };
    const answered = namesTasks
      ? this.#talk.ask('tools/call', call)
      : this.#talk.ask('tasks/result', { taskId });
    const outcome = answered.finally(() => this.#talk.hearers.delete(hear));
    const question = await Promise.race([put.promise, outcome]);
    const withdraw = async () => {
      mayReply = true;
      reply(question);
      await outcome;
    };
    return { question, withdraw, outcome };
  }
}

function isQuestionOf({ method, params }: Loose, taskId: string): boolean {
  if (method !== 'elicitation/create') return false;
  const { _meta = {} } = params;
  return (_meta[relatedKey] ?? _meta['io.modelcontextprotocol/related-task'])?.taskId === taskId;
}

function fill(draft: Draft, placeholder: string, value: string): void {
  const filled = (text: string, encoding: BufferEncoding) =>
    text.replaceAll(Buffer.from(placeholder).toString(encoding), Buffer.from(value).toString(encoding));
  draft.message = JSON.parse(filled(JSON.stringify(draft.message), 'utf8'));
  if (draft.body) draft.body = Buffer.from(filled(draft.body.toString('latin1'), 'latin1'), 'latin1');
}
