/** One call with one question, and a connection that drops once: at each of its messages, in each way that it can. */
import { describe, expect, test } from 'vitest';
import { meet } from './meeting.ts';
import {
  type Asked,
  completed,
  created,
  done,
  Fault,
  hangUp,
  Raw,
  type Revision,
  revisions,
  type Says,
  sse,
  task,
} from './server.ts';

const ways = ['before it was taken', 'after it was taken', 'in the middle of its answer'] as const;
type Way = (typeof ways)[number];

const question = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'What is your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  },
};
const related = { 'io.modelcontextprotocol/related-task': { taskId: 'root' } };

/** An honest server with one tool, which asks for a name. */
class Honest {
  readonly #revision: Revision;
  #name: string | undefined;
  readonly #waiting = new Set<() => void>();
  #asked = 0;
  readonly keys = new Set<string>();

  constructor(revision: Revision) {
    this.#revision = revision;
  }

  get says(): Record<string, Says> {
    return {
      'tools/list': () => ({
        resultType: 'complete',
        tools: [{ name: 't', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }],
      }),
      'tools/call': ({ params }) => {
        this.keys.add(params._meta['dev.holdfast/idempotency-key']);
        return created(this.#revision, 'root');
      },
      'tasks/get': () =>
        this.#name !== undefined
          ? completed('root')
          : task(
              'root',
              'input_required',
              this.#revision === '2026-07-28' ? { inputRequests: { name: question } } : {},
            ),
      'tasks/update': ({ params }) => this.#answer(params.inputResponses?.name),
      response: ({ params }) => this.#answer(params.result),
      'tasks/result': ({ id }) =>
        new Raw((response) => {
          response.setHeader('content-type', 'text/event-stream');
          const answer = () => response.end(sse({ jsonrpc: '2.0', id, result: done }));
          if (this.#name !== undefined) return answer();
          const { method, params } = question;
          response.write(
            sse({ jsonrpc: '2.0', id: `q${++this.#asked}`, method, params: { ...params, _meta: related } }),
          );
          this.#waiting.add(answer);
          response.once('close', () => this.#waiting.delete(answer));
        }),
    };
  }

  #answer(answer: { readonly content?: { readonly name: string } } | undefined) {
    // It takes one answer, and says so.
    if (this.#name !== undefined) return new Fault(-32602, 'Nothing was asked.');
    this.#name = answer?.content?.name;
    for (const go of this.#waiting) go();
    return { resultType: 'complete' };
  }
}

/** Drops the connection at one message, and at no other. */
function dropping(says: Record<string, Says>, at: number, way: Way, seen: string[]): Record<string, Says> {
  return Object.fromEntries(
    Object.entries(says).map(([method, say]) => [
      method,
      (asked: Asked) => {
        seen.push(method);
        if (seen.length - 1 !== at) return say(asked);
        return way === 'before it was taken' ? hangUp : cut(say(asked), way);
      },
    ]),
  );
}

function cut(answer: ReturnType<Says>, way: Way): Raw {
  return new Raw((response, asked) => {
    if (answer instanceof Raw) {
      answer.write(response, asked);
      setTimeout(() => response.destroy(), way === 'after it was taken' ? 0 : 30);
      return;
    }
    if (way === 'after it was taken') return void response.destroy();
    const text = JSON.stringify({ jsonrpc: '2.0', id: asked.id, result: answer });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length });
    response.write(text.slice(0, text.length / 2), () => response.destroy());
  });
}

const extensions = { 'io.modelcontextprotocol/tasks': {}, 'dev.holdfast/idempotency-key': {} };

async function converse(revision: Revision, at: number, way: Way) {
  const seen: string[] = [];
  const honest = new Honest(revision);
  const { tasks, questions } = await meet(revision, dropping(honest.says, at, way, seen), {
    capabilities: { extensions },
    reconnectTimeout: '10s',
  });
  const result = await tasks.callTool({ name: 't' });
  return { result, questions, seen, keys: honest.keys };
}

describe.each(revisions)('on %s', (revision) => {
  test('whichever message the connection drops at, the call ends right and the user is asked once', async () => {
    const { seen: all } = await converse(revision, -1, ways[0]);
    expect(all.length).toBeGreaterThan(4);
    for (let at = 0; at < all.length; at++)
      for (const way of ways) {
        const { result, questions, keys } = await converse(revision, at, way);
        const told = `message ${at} (${all[at]}), ${way}`;
        expect([told, result]).toMatchObject([told, done]);
        expect([told, questions.length]).toEqual([told, 1]);
        expect([told, keys.size]).toEqual([told, 1]);
      }
  });
});
