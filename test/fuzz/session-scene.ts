/** A session under fire: what it holds, what is made for a message just before it is sent, and whether all is well. */
import { setTimeout as pause } from 'node:timers/promises';
import { accept } from './answers.ts';
import { withOwnId } from './campaign.ts';
import type { BadMessage, Draft } from './draft.ts';
import type { Answer } from './oracle.ts';
import type { Loose } from './requests.ts';
import { fresh, relatedKey, type SessionDialect, type SessionFacts, taskKey } from './session-methods.ts';
import { asked, type Talk, toItsEnd } from './talk.ts';

/** What was made for one message, and how to be rid of it. */
interface Made {
  readonly value: string;
  readonly release: () => Promise<void>;
}

const overStatuses = ['completed', 'failed', 'cancelled'];

/** No name is given twice, whoever gives it. */
let names = 0;

export class SessionScene {
  readonly facts: SessionFacts;
  readonly #talk: Talk;

  private constructor(talk: Talk, facts: SessionFacts) {
    this.#talk = talk;
    this.facts = facts;
  }

  /** `unseen` are tasks that this session may not see, whoever they belong to. */
  static async set(
    talk: Talk,
    dialect: SessionDialect,
    unseen: readonly string[],
    otherCursors: readonly string[],
  ): Promise<SessionScene> {
    const facts = {
      dialect,
      headers: talk.headers,
      waiting: '',
      done: '',
      unseen,
      cursor: '',
      wrongCursors: [],
    };
    const scene = new SessionScene(talk, facts);
    const done = await scene.#begun('throws', {});
    await scene.until(done, ...overStatuses);
    const waiting = await scene.#begun('ask_name', {});
    await scene.until(waiting, 'input_required');
    for (let n = 0; n < 51; n++) await scene.#begun('nap', { ms: 0 });
    const { nextCursor: cursor } = await asked(talk, 'tasks/list', scene.about(undefined));
    const wrongCursors = [...otherCursors, cursor.slice(1), `${cursor}A`, cursor.toLowerCase()];
    return new SessionScene(talk, { ...facts, done, waiting, cursor, wrongCursors });
  }

  /** Sends a message, with what it needs made before, and unmade after. */
  async send(bad: BadMessage): Promise<Answer> {
    const { draft } = withOwnId(bad, `id ${++names}`);
    const text = JSON.stringify([draft.message, draft.body?.toString('latin1')]);
    const made: Made[] = [];
    try {
      for (const what of Object.keys(fresh) as (keyof typeof fresh)[]) {
        if (!text.includes(fresh[what])) continue;
        const one = await this.#made[what]();
        made.push(one);
        fill(draft, fresh[what], one.value);
      }
      return await this.#talk.send(bad);
    } finally {
      for (const { release } of made) await release();
    }
  }

  /** What is no longer as it was, in words. */
  async damage(): Promise<string[]> {
    const { waiting, dialect } = this.facts;
    const problems: string[] = [];
    const greeting = await asked(this.#talk, 'tools/call', { name: 'greet', arguments: { name: 'Ada' } });
    if (greeting.content?.[0]?.text !== 'Hello, Ada!') problems.push('a right call no longer works');
    const { status } = await asked(this.#talk, 'tasks/get', this.about(waiting));
    if (status !== 'input_required') problems.push(`the task that waited is ${status}`);
    return problems.map((problem) => `${dialect.name}: ${problem}`);
  }

  /** After all, a task still goes its way from a call through a question to a result. */
  async finish(): Promise<string> {
    const { dialect } = this.facts;
    if (dialect.drafts.includes('sep-2339')) {
      const answer = { inputResponses: { name: accept({ name: 'Ada' }) } };
      await asked(this.#talk, 'tasks/continue', { taskId: this.facts.waiting, ...answer });
      const { result } = await this.until(this.facts.waiting, ...overStatuses);
      return result.content[0].text;
    }
    const { outcome } = await this.#asking(accept({ name: 'Ada' }));
    return (await outcome).content[0].text;
  }

  about(taskId: string | undefined): Loose {
    const id = taskId === undefined ? {} : { taskId };
    return { ...id, ...(this.facts.dialect.namesTasks && { _meta: { [relatedKey]: id } }) };
  }

  async until(taskId: string, ...statuses: readonly string[]): Promise<Loose> {
    for (;;) {
      const shown = await asked(this.#talk, 'tasks/get', this.about(taskId));
      if (statuses.includes(shown.status)) return shown;
      await pause(2);
    }
  }

  readonly #made: Record<keyof typeof fresh, () => Promise<Made>> = {
    name: async () => ({ value: `name ${++names}`, release: async () => {} }),
    task: async () => {
      const taskId = await this.#begun('nap', { ms: this.facts.dialect.namesTasks ? 0 : 3_600_000 });
      const method = this.facts.dialect.namesTasks ? 'tasks/delete' : 'tasks/cancel';
      // Unless that is just what was done.
      return { value: taskId, release: () => asked(this.#talk, method, this.about(taskId)).catch(() => {}) };
    },
    question: async () => {
      const { question, withdraw } = await this.#asking();
      return { value: question, release: withdraw };
    },
  };

  /** Calls a tool as a task, and gives what the session knows it by. */
  async #begun(name: string, args: Loose): Promise<string> {
    const call = { name, arguments: args };
    if (!this.facts.dialect.namesTasks) {
      const { task } = await asked(this.#talk, 'tools/call', { ...call, task: {} });
      return task.taskId;
    }
    const taskId = `begun ${++names}`;
    const messages = this.#talk.exchange('tools/call', { ...call, _meta: { [taskKey]: { taskId } } });
    // What asks is not answered before it is; what does not ask is over by then.
    for (let isAsked = false; !isAsked; ) {
      const { done, value } = await messages.next();
      if (done) return taskId;
      isAsked = value.method === 'elicitation/create';
    }
    // The stream stays open for as long as somebody could answer.
    void toItsEnd(messages);
    return taskId;
  }

  /** A task that asks for a name; `answer`, or later a refusal, brings it to its end. */
  async #asking(answer?: Loose) {
    const { namesTasks } = this.facts.dialect;
    const taskId = namesTasks ? `asking ${++names}` : await this.#begun('ask_name', {});
    const put = Promise.withResolvers<string>();
    const reply = (id: string) => this.#talk.tell({ id, result: answer ?? { action: 'decline' } });
    let mayReply = answer !== undefined;
    // Whichever stream it is put on: that of the request, or the one that belongs to none.
    const hear = ({ id, method, params }: Loose) => {
      if (method !== 'elicitation/create' || aboutIn(params) !== taskId) return;
      put.resolve(id);
      if (mayReply) void reply(id);
    };
    this.#talk.hearers.add(hear);
    const call = { name: 'ask_name', arguments: {}, _meta: { [taskKey]: { taskId } } };
    const outcome = namesTasks
      ? asked(this.#talk, 'tools/call', call)
      : asked(this.#talk, 'tasks/result', { taskId });
    const over = outcome.finally(() => this.#talk.hearers.delete(hear));
    const question = await Promise.race([put.promise, over]);
    const withdraw = async () => {
      mayReply = true;
      await reply(question);
      await over;
    };
    return { question, withdraw, outcome: over };
  }
}

/** The task that a question is about. */
function aboutIn({ _meta = {} }: Loose): unknown {
  return (_meta[relatedKey] ?? _meta['io.modelcontextprotocol/related-task'])?.taskId;
}

function fill(draft: Draft, placeholder: string, value: string): void {
  const filled = (text: string, encoding: BufferEncoding) =>
    text.replaceAll(Buffer.from(placeholder).toString(encoding), Buffer.from(value).toString(encoding));
  draft.message = JSON.parse(filled(JSON.stringify(draft.message), 'utf8'));
  if (draft.body) draft.body = Buffer.from(filled(draft.body.toString('latin1'), 'latin1'), 'latin1');
}
