/** What bad messages have found: one small message for each mistake, so that none comes back. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  clientCapabilitiesKey,
  protocolVersionKey,
  subscriptionIdKey,
} from '../../../src/dialects/2026-07-28/names.ts';
import { rightAnswers } from './answers.ts';
import { type Draft, draftOf } from './draft.ts';
import { invalidParams, invalidRequest, parseError, read, unsupportedVersion } from './oracle.ts';
import { envelope, type Loose, nested, request, textOf } from './requests.ts';
import { openScene, type Scene } from './scene.ts';
import { StdioScene } from './stdio-scene.ts';
import { freshName } from './talk.ts';

describe('over HTTP', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await openScene();
  });

  /** The status and the message of an answer. */
  async function sent(message: Loose, spoil: (draft: Draft) => void = () => {}): Promise<Loose> {
    const draft = draftOf(message);
    spoil(draft);
    const answer = await scene.shooter.send(draft);
    return answer.kind === 'answered' ? { status: answer.status, ...read(answer) } : answer;
  }

  const get = (more: Loose = {}) =>
    request(1, 'tasks/get', { taskId: scene.facts.waiting.ask_name, ...more });

  test.each([
    ['a part of a number as its id', (text: string) => text.replace('"id":1', '"id":1.5')],
    ['more than any number as its id', (text: string) => text.replace('"id":1', '"id":1e400')],
    ['a result beside its method', (text: string) => text.replace('{', '{"result":{},')],
  ])('a request with %s is refused whether its sender is known or not', async (_, change) => {
    const known = get();
    expect(await sent(known)).toMatchObject({ status: 200 });
    const answers = [known, get({ _meta: envelope({ 'example.com/unheard-of': change.toString() }) })].map(
      (one) =>
        sent(one, (draft) => {
          draft.body = Buffer.from(change(textOf(one)));
        }),
    );
    for (const answer of await Promise.all(answers))
      expect(answer).toMatchObject({ status: 400, error: { code: invalidRequest } });
  });

  test('bytes that are not UTF-8 are refused, and not replaced by others', async () => {
    const call = request(1, 'tools/call', { name: 'greet', arguments: { name: 'A' } });
    const spoil = (draft: Draft) => {
      const [head, tail] = textOf(call).split('"A"');
      draft.body = Buffer.concat([Buffer.from(`${head}"`), Buffer.from([0xff]), Buffer.from(`"${tail}`)]);
    };
    expect(await sent(call, spoil)).toMatchObject({ status: 400, error: { code: parseError } });
  });

  test.each([[null], [5], [{}], [[]], [false]])('a state that is %j starts no work', async (requestState) => {
    const before = await scene.published();
    const call = request(1, 'tools/call', { name: 'ask_name', arguments: {}, requestState });
    expect(await sent(call)).toMatchObject({ error: { code: invalidParams } });
    expect(await scene.published()).toEqual(before);
  });

  test.each([[null], [5], ['x'], [[]]])(
    'answers that are %j are not acknowledged, whichever way the id travels',
    async (inputResponses) => {
      const taskId = scene.facts.waiting.ask_name!;
      const update = request(1, 'tasks/update', { taskId, inputResponses });
      const inBase64 = (draft: Draft) => {
        const others = draft.headers.filter(([name]) => name !== 'Mcp-Name');
        draft.headers = [...others, ['Mcp-Name', `=?base64?${Buffer.from(taskId).toString('base64')}?=`]];
      };
      for (const spoil of [() => {}, inBase64])
        expect(await sent(update, spoil)).toMatchObject({ error: { code: invalidParams } });
    },
  );

  test('a request to listen to fifty thousand tasks is refused before anybody looks for them', async () => {
    const taskIds = Array.from({ length: 50_000 }, (_, n) => n.toString(36));
    const listen = request(1, 'subscriptions/listen', { notifications: { taskIds } });
    expect(await sent(listen)).toMatchObject({ error: { code: invalidParams } });
  });

  test('TRACE is not allowed, and answered', async () => {
    const trace = (draft: Draft) => {
      draft.httpMethod = 'TRACE';
    };
    expect([405, 501]).toContain((await sent(get(), trace)).status);
    expect(await scene.damage()).toEqual([]);
  });

  test.each(['tasks/get', 'server/discover'])(
    'a Host with somebody before it is turned away (%s)',
    async (method) => {
      const message = request(1, method, { taskId: scene.facts.waiting.ask_name });
      const spoil = (draft: Draft) => {
        draft.headers = draft.headers.map(([name, value]) => [
          name,
          name === 'Host' ? `evil.example@${value}` : value,
        ]);
      };
      expect([400, 403]).toContain((await sent(message, spoil)).status);
    },
  );
});

describe('over stdio', () => {
  let scene: StdioScene;
  beforeAll(async () => {
    scene = await StdioScene.open();
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  async function sent(message: Loose): Promise<Loose> {
    const answer = await scene.exchange(Buffer.from(textOf(message)), message.id, false);
    return answer.kind === 'answered' ? JSON.parse(answer.text) : answer;
  }

  /** Answers a task that asks for a name, and gives back whom that was told to. */
  async function toldOf(taskId: string): Promise<unknown[]> {
    const before = scene.news.length;
    await scene.ask('tasks/update', { taskId, inputResponses: rightAnswers.ask_name });
    while ((await scene.ask('tasks/get', { taskId })).status !== 'completed');
    return scene.news.slice(before).map(({ params }) => params._meta[subscriptionIdKey]);
  }

  async function waiting(): Promise<string> {
    const { taskId } = await scene.ask('tools/call', { name: 'ask_name', arguments: {} });
    while ((await scene.ask('tasks/get', { taskId })).status !== 'input_required');
    return taskId;
  }

  test.each([
    ['for its filter', { toolsListChanged: 'yes' }, envelope(), invalidParams],
    ['for its revision', {}, envelope({ [protocolVersionKey]: '2099-01-01' }), unsupportedVersion],
  ])('nothing is told to a subscription that was refused %s', async (_, filter, _meta, code) => {
    const taskId = await waiting();
    const notifications = { taskIds: [taskId], ...filter };
    const listen = request(freshName('request'), 'subscriptions/listen', { notifications, _meta });
    expect(await sent(listen)).toMatchObject({ error: { code } });
    expect(await toldOf(taskId)).toEqual([]);
  });

  test('nothing is told to a subscription that was cancelled in the same breath', async () => {
    const taskId = await waiting();
    const requestId = freshName('request');
    const listen = request(requestId, 'subscriptions/listen', { notifications: { taskIds: [taskId] } });
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
    scene.write(Buffer.from(`${textOf(listen)}\n${textOf(cancelled)}`));
    expect(await toldOf(taskId)).toEqual([]);
  });

  test('a revision that is not served is refused on an open connection too (S2026-03)', async () => {
    const _meta = envelope({ [protocolVersionKey]: '2099-01-01' });
    const answer = await sent(request(freshName('request'), 'server/discover', { _meta }));
    expect(answer.error).toMatchObject({ code: unsupportedVersion, data: { supported: ['2026-07-28'] } });
  });

  test.each(['ask_name', 'test_tool_with_task', 'nap'])(
    'arguments a hundred thousand lists deep are refused as such (%s)',
    async (name) => {
      const params = { name, arguments: { ms: 1, deep: nested(100_000) } };
      const { error } = await sent(request(freshName('request'), 'tools/call', params));
      expect(error?.code).toBeOneOf([invalidRequest, invalidParams]);
    },
  );

  test.each([[null], [5], ['x'], [[]]])(
    'answers that are %j are not acknowledged',
    async (inputResponses) => {
      const taskId = scene.facts.waiting.ask_name!;
      const answer = await sent(request(freshName('request'), 'tasks/update', { taskId, inputResponses }));
      expect(answer).toMatchObject({ error: { code: invalidParams } });
    },
  );

  test('a state that came with a refused call is not taken for that of the next', async () => {
    const id = freshName('request');
    const call = { name: 'ask_name', arguments: {} };
    const _meta = envelope({ [clientCapabilitiesKey]: undefined });
    const refused = request(id, 'tools/call', { ...call, requestState: 'not ours', _meta });
    expect(await sent(refused)).toMatchObject({ error: { code: invalidParams } });
    expect(await sent(request(id, 'tools/call', call))).toMatchObject({ result: { resultType: 'task' } });
  });
});
