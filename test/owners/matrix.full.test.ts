/**
 * Two owners, every method, every dialect, every kind of task: whatever Bob asks about a task of Ada's is answered, to
 * the byte, as if he had asked about a task that never was, and nothing of hers changes.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { headersOf, type Message } from '../kit/wire.ts';
import { freshDatabase } from '../postgres/database.ts';
import { RawClient } from '../serving/raw-client.ts';
import { type Answer, alike, type Face, faces, read } from './faces.ts';
import { absentId, type Stage, secret, stage } from './stage.ts';

const fitting = { confirm: { action: 'accept', content: { confirm: true } } };
const taskMethods = ['get', 'update', 'cancel', 'result', 'continue', 'delete', 'list'];
const answers: [string, object][] = [
  ['', {}],
  [' with answers', { inputResponses: fitting }],
  [' with answers that do not fit', { inputResponses: { confirm: {} } }],
  [' with something else for answers', { inputResponses: 7 }],
];
const probes = taskMethods.flatMap((method) =>
  answers.map(([how, more]) => [`tasks/${method}${how}`, `tasks/${method}`, more] as const),
);
const idempotencyKey = 'dev.holdfast/idempotency-key';

const all = Object.keys(faces);
/** What can differ from store to store is below every dialect: one with links, one with sessions, one with names. */
const some = ['2026-07-28 with subtasks', 'all drafts', 'SEP-1686'];
const stores: [string, () => Promise<string>, readonly string[]][] = [
  ['SQLite', async () => 'memory:', all],
  ['Postgres', async () => (await freshDatabase()).url, process.env.HOLDFAST_LANE === 'long' ? all : some],
];

describe.each(stores)('on %s', (_, store, names) => {
  const withSessions = names.filter((name) => !name.startsWith('2026'));

  let staged: Stage;
  let before: unknown[];
  beforeAll(async () => {
    staged = await stage(await store());
    before = await staged.standing();
  });

  /** What came back, after a look for anything that is not Bob's to read. What he said himself may be said back. */
  function harmless(answer: Answer, ...said: readonly string[]): Answer {
    const text = said.reduce((rest, one) => rest.replaceAll(one, '…'), answer.text);
    const leaked = [secret, ...staged.planted.values()].filter((one) => text.includes(one));
    expect(leaked).toEqual([]);
    return { ...answer, text };
  }

  async function ask(face: Face, message: Message, ...said: readonly string[]): Promise<Answer> {
    const response = await face.send({ id: 'probe', ...message }, AbortSignal.timeout(100_000));
    return ageless(harmless(await read(response), ...said));
  }

  describe.each(names)('S1686-76 S2025-100 S2663-98: to another owner, in %s', (name) => {
    let bob: Face;
    beforeAll(async () => {
      bob = await faces[name]!(staged.bob);
    });

    test.each(probes)('%s is answered as if there were no such task', async (_, method, more) => {
      const params = (id: string) => ({ ...bob.about(id), ...more });
      const absent = await ask(bob, { method, params: params(absentId) }, absentId);
      if (method !== 'tasks/list') expect(absent.text).toMatch(/"code":-32(602|601|021)/);
      for (const [label, id] of staged.planted)
        expect([label, await ask(bob, { method, params: params(id) }, id)]).toEqual([label, absent]);
    });

    test('a subscription names and tells what it would if there were no such task', async () => {
      const own = (await new RawClient(staged.url, staged.bob).call('nap', { ms: 3_600_000 })).result.taskId;
      const listened = async (taskIds: string[]) => {
        const params = { notifications: { taskIds } };
        const response = await bob.send({ id: 'probe', method: 'subscriptions/listen', params });
        const isEnough = (text: string) => text.includes('"status"');
        return harmless(await read(response, isEnough), ...taskIds);
      };
      const absent = await listened([absentId, own]);
      expect(absent.text).toContain(bob.sessionId ? 'error' : '"status"');
      for (const [label, id] of staged.planted)
        expect([label, await listened([id, own])]).toEqual([label, absent]);
    });

    test('a key or a name that the other uses is as good as any other', async () => {
      const ada = await faces[name]!(staged.ada);
      const call = (taskName: string, bytes: number): Message => {
        const { _meta, ...asked } = bob.asTask(taskName);
        const meta = { ...(_meta as object), [idempotencyKey]: `key of ${taskName} in ${name}` };
        return { method: 'tools/call', params: { name: 'big', arguments: { bytes }, ...asked, _meta: meta } };
      };
      const taken = `taken ${name}`;
      const theirs = await read(await ada.send({ id: 'probe', ...call(taken, 1) }));
      expect(theirs.status).toBe(200);
      const foreign = await ask(bob, call(taken, 2), taken);
      const id = (await new RawClient(staged.url, staged.ada).call('nap', { ms: 3_600_000 })).result.taskId;
      expect(alike(await ask(bob, call(id, 2), id))).toEqual(alike(foreign));
      const absent = await ask(bob, call(`free ${name}`, 2), `free ${name}`);
      expect(alike(foreign)).toEqual(alike(absent));
      expect(absent.text).toContain('"result"');
      const [own] = /\b[a-z2-7]{32}\b/.exec(theirs.text) ?? [];
      if (own !== undefined) expect(foreign.text).not.toContain(own);
    });

    test('a state that the other was given is no better than one made up', async () => {
      const plain = new RawClient(staged.url, { token: staged.ada.token, tasks: false });
      const asking = new RawClient(staged.url, { token: staged.ada.token });
      const states = [
        [plain, 'confirm_delete', { filename: secret }],
        [asking, 'test_tool_with_task', {}],
      ] as const;
      for (const [client, name, input] of states) {
        const state = (await client.call(name, input)).result.requestState;
        expect(state).toBeTypeOf('string');
        const call = (requestState: string): Message => {
          const params = { name, arguments: input, requestState, inputResponses: fitting };
          return { method: 'tools/call', params: { ...params, ...bob.asTask('mine') } };
        };
        const made = await ask(bob, call(tampered(state)));
        expect(await ask(bob, call(state))).toEqual(made);
        expect(made.text).toContain('this server did not issue it');
      }
    });

    test('S2025-101: a cursor that the other was given is no better than one made up, and no list has its tasks', async () => {
      const client = new RawClient(staged.url, staged.ada);
      await Promise.all(Array.from({ length: 51 }, () => client.call('nap', { ms: 3_600_000 })));
      const ada = await faces[name]!(staged.ada);
      const words = bob.about('');
      const list = (cursor?: string): Message => ({
        method: 'tasks/list',
        params: { ...(words._meta !== undefined && words), ...(cursor !== undefined && { cursor }) },
      });
      const theirs = await read(await ada.send({ id: 'probe', ...list() }));
      const [, cursor = 'a'.repeat(80)] = /"nextCursor":"([^"]+)"/.exec(theirs.text) ?? [];
      if (bob.sessionId) expect(theirs.text).toContain('"nextCursor"');
      expect(await ask(bob, list(cursor))).toEqual(await ask(bob, list(tampered(cursor))));
      await ask(bob, list());
    });

    test('what it cancels or answers is its own', async () => {
      const isWaiting = staged.planted.get('one made in SEP-1686')!;
      const told = async (message: Message) => read(await bob.send(message));
      const cancelling = (requestId: unknown, taskId: string): Message => ({
        method: 'notifications/cancelled',
        params: { requestId, ...bob.about(taskId) },
      });
      const absent = await told(cancelling('nothing', absentId));
      // Requests of sessions are counted from one; the task of SEP-1686 is called "mine" by its owner.
      for (const taskId of [isWaiting, 'mine'])
        for (let requestId = 1; requestId < 8; requestId++)
          expect(await told(cancelling(requestId, taskId))).toEqual(absent);
      if (bob.sessionId)
        for (let id = 0; id < 8; id++)
          expect((await told({ id: `${id}`, result: fitting.confirm })).status).toBe(202);
      expect((await staged.tasks.get(isWaiting))!.phase).toBe('waiting');
    });

    test('S2663-99: what is pushed to it is its own', async () => {
      const ada = new RawClient(staged.url, staged.ada);
      const theirs = (await ada.call('confirm_delete', { filename: secret })).result.taskId;
      const bobs = new RawClient(staged.url, staged.bob);
      const own = (await bobs.call('confirm_delete', { filename: 'mine' })).result.taskId;
      const abort = new AbortController();
      const params = { notifications: { taskIds: [theirs, own] } };
      const response = await (bob.stream
        ? bob.stream(abort.signal)
        : bob.send({ id: 'probe', method: 'subscriptions/listen', params }, abort.signal));
      // Whoever asks about a task in a session hears of it from then on, if it may.
      for (const taskId of [theirs, own])
        for (const params of [bob.about(taskId), { taskId }])
          await read(await bob.send({ id: 'ask', method: 'tasks/get', params }));
      const heard = read(response, (text) => text.includes(own) && text.includes('"completed"'));
      await expect.poll(async () => (await ada.get(theirs)).result.status).toBe('input_required');
      await ada.update(theirs, fitting);
      await ada.until(theirs, 'completed');
      await bobs.update(own, fitting);
      const fence = setTimeout(() => abort.abort(), 60_000);
      const { text } = await heard;
      clearTimeout(fence);
      abort.abort();
      expect(text).toContain(own);
      for (const one of [theirs, secret]) expect(text).not.toContain(one);
    });
  });

  test.each(withSessions)(
    'S1686-74: in %s a session of another owner is as one that never was',
    async (name) => {
      const { sessionId = '' } = await faces[name]!(staged.ada);
      const get = { id: 'probe', method: 'tasks/get', params: { taskId: absentId } };
      for (const method of ['POST', 'GET', 'DELETE']) {
        const tried = async (id: string) => {
          const session = { 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': id };
          const headers = { ...headersOf('tasks/get', {}, staged.bob.token), ...session };
          const body = method === 'POST' ? JSON.stringify({ jsonrpc: '2.0', ...get }) : undefined;
          return read(await fetch(staged.url, { method, headers, ...(body !== undefined && { body }) }));
        };
        const absent = await tried(absentId);
        expect(absent.status).toBe(404);
        expect([method, await tried(sessionId)]).toEqual([method, absent]);
      }
      const still = await fetch(staged.url, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${staged.ada.token}`, 'mcp-session-id': sessionId },
      });
      expect(still.status).toBe(200);
    },
  );

  test('S1686-75 S2025-95: after all that everything is as its owner left it', async () => {
    expect(await staged.standing()).toEqual(before);
    expect(before).not.toContain('gone');
  });

  test('S2663-98: no token, and one that nobody knows, are refused alike whatever is asked', async () => {
    const probe = async (token: string | undefined, id: string, method: string) => {
      const response = await fetch(staged.url, {
        method: 'POST',
        headers: headersOf(method, {}, token),
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { taskId: id } }),
      });
      return read(response);
    };
    for (const token of [undefined, 'x'.repeat(32)])
      for (const method of taskMethods.map((one) => `tasks/${one}`)) {
        const absent = await probe(token, absentId, method);
        expect(absent.status).toBe(401);
        for (const id of staged.planted.values()) expect(await probe(token, id, method)).toEqual(absent);
      }
  });
});

/** Bob's own tasks grow older meanwhile, and with them how soon they are to be asked after. */
function ageless(answer: Answer): Answer {
  return { ...answer, text: answer.text.replaceAll(/("poll\w+"):\d+/g, '$1:…') };
}

/** Of the same length, and not what it was. */
function tampered(sealed: string): string {
  const middle = sealed.length >> 1;
  return `${sealed.slice(0, middle)}${sealed[middle] === 'A' ? 'B' : 'A'}${sealed.slice(middle + 1)}`;
}
