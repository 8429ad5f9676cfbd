/** A session under fire: what it holds, what is made for a message just before it is sent, and whether all is well. */
import { relatedTask as relatedKey, taskKey } from '../../dialects/sep-1686/requestor.ts';
import { accept, rightAnswers } from './answers.ts';
import type { Front } from './campaign.ts';
import type { Draft } from './draft.ts';
import type { Loose } from './requests.ts';
import { fresh, type SessionDialect, sessionMethods } from './session-methods.ts';
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

interface Made {
  readonly value: string;
  readonly release?: () => Promise<unknown>;
}

/** `unseen` are tasks that this session may not see, whoever they belong to. */
export async function sessionFront(
  talk: Talk,
  dialect: SessionDialect,
  unseen: readonly string[],
  otherCursor: string,
): Promise<Front> {
  const { name, drafts, namesTasks } = dialect;
  const ask = talk.ask.bind(talk);
  const about = (id: { readonly taskId?: string }) => ({
    ...id,
    ...(namesTasks && { _meta: { [relatedKey]: id } }),
  });
  const shown = (taskId: string, isSo: (shown: Loose) => boolean) => shownOnce(ask, about({ taskId }), isSo);
  const named = (taskId: string) => ({ _meta: { [taskKey]: { taskId } } });

  async function begun(tool: string, args: Loose = {}): Promise<string> {
    const call = { name: tool, arguments: args };
    if (!namesTasks) return (await ask('tools/call', { ...call, task: {} })).task.taskId;
    const taskId = freshName('begun');
    // What asks is not answered before it is; what does not ask is over by then.
    const over = ask('tools/call', { ...call, ...named(taskId) }).catch(() => {});
    await talk.heard((message) => isQuestionOf(message, taskId), over);
    return taskId;
  }

  /** A task that asks for a name; `answer`, or later a refusal, brings it to its end. */
  async function asking(answer?: Loose) {
    const taskId = namesTasks ? freshName('asking') : await begun('ask_name');
    const put = Promise.withResolvers<string>();
    const reply = (id: string) =>
      void talk.tell({ id, result: answer ?? { action: 'decline' } }).catch(() => {});
    let mayReply = answer !== undefined;
    // A question that was answered badly is asked again, under another id.
    let latest = '';
    // Whichever stream it is put on: that of the request, or the one that belongs to none.
    const hear = (message: Loose) => {
      if (!isQuestionOf(message, taskId)) return;
      latest = message.id;
      put.resolve(message.id);
      if (mayReply) reply(message.id);
    };
    talk.hearers.add(hear);
    const answered = namesTasks
      ? ask('tools/call', { name: 'ask_name', arguments: {}, ...named(taskId) })
      : ask('tasks/result', { taskId });
    const outcome = answered.finally(() => talk.hearers.delete(hear));
    const question = await Promise.race([put.promise, outcome]);
    const withdraw = async () => {
      mayReply = true;
      reply(latest);
      await outcome;
    };
    return { question, withdraw, outcome };
  }

  const making: Record<keyof typeof fresh, () => Promise<Made>> = {
    name: async () => ({ value: freshName('name') }),
    task: async () => {
      const value = await begun('nap', { ms: namesTasks ? 0 : 3_600_000 });
      const method = namesTasks ? 'tasks/delete' : 'tasks/cancel';
      // Unless that is just what was done.
      return { value, release: () => ask(method, about({ taskId: value })).catch(() => {}) };
    },
    question: async () => {
      const { question, withdraw } = await asking();
      return { value: question, release: withdraw };
    },
  };

  const done = await begun('throws');
  await shown(done, hasEnded);
  const waiting = await begun('ask_name');
  await shown(waiting, ({ status }) => status === 'input_required');
  const cursor = await secondPage(
    () => ask('tasks/list', about({})),
    () => begun('nap', { ms: 0 }),
  );
  const wrongCursors = [otherCursor, cursor.slice(1), `${cursor}A`, cursor.toLowerCase()];
  const isPipe = talk instanceof PipeTalk;
  const facts = { dialect, headers: talk.headers, waiting, done, unseen, cursor, wrongCursors };
  const inDialect = (problems: readonly string[]) => problems.map((problem) => `${name}: ${problem}`);

  return {
    isPipe,
    methods: sessionMethods(facts, !isPipe),

    /** Sends a message, with what it needs made before, and unmade after. */
    async send(bad) {
      const { draft } = withOwnId(bad);
      const text = JSON.stringify([draft.message, draft.body?.toString('latin1')]);
      const made: Made[] = [];
      try {
        for (const [what, placeholder] of Object.entries(fresh)) {
          if (!text.includes(placeholder)) continue;
          const one = await making[what as keyof typeof fresh]();
          made.push(one);
          fill(draft, placeholder, one.value);
        }
        return await talk.send(bad);
      } finally {
        for (const { release } of made) await release?.();
      }
    },

    async damage() {
      const problems = await greetingProblems(ask);
      const { status } = await ask('tasks/get', about({ taskId: waiting }));
      if (status !== 'input_required') problems.push(`the task that waited is ${status}`);
      return inDialect(problems);
    },

    /** After all, a task still goes its way from a call through a question to a result. */
    async finish() {
      const isContinued = drafts.includes('sep-2339');
      if (isContinued)
        await ask('tasks/continue', { taskId: waiting, inputResponses: rightAnswers.ask_name });
      const { content } = isContinued
        ? (await shown(waiting, hasEnded)).result
        : await (await asking(accept({ name: 'Ada' }))).outcome;
      const [{ text }] = content;
      return inDialect(text === 'Hello, Ada!' ? [] : [`it ended with ${text}`]);
    },
  };
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
