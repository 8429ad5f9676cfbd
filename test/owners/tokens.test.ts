/** Bearer tokens: who is let in, what the others are told, and whose tasks a token stands for. */
import { createHmac } from 'node:crypto';
import express from 'express';
import { createTasks } from 'holdfast';
import { jwtTokens, McpHandler, serveHttp, staticTokens } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixtureFactory, fixtureTasks } from '../fixture/server.ts';
import { withCode } from '../kit/with-code.ts';
import { RawClient } from '../serving/raw-client.ts';
import { audience, Issuer, type SigningKey, signingKey } from './issuer.ts';

type Options = NonNullable<Parameters<typeof serveHttp>[2]>;

const resource = {
  url: audience,
  authorizationServers: ['https://login.example.com', 'https://other.example.com/tenant'],
  scopes: ['tasks'],
};

async function serving(options: Options) {
  const errors: Error[] = [];
  const tasks = fixtureTasks({ store: sqlite('memory:') });
  const server = await serveHttp(tasks, fixtureFactory(tasks), {
    port: 0,
    stopOn: [],
    grace: '1s',
    onError: (error) => errors.push(error),
    ...options,
  });
  onTestFinished(() => server.stop());
  return {
    url: server.url,
    tasks,
    errors,
    /** What a request with that token gets, whatever it asks for. */
    knock: async (token?: string) => {
      const response = await fetch(server.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: {
            protocolVersion: '2025-11-25',
            clientInfo: { name: 'knocker', version: '1' },
            capabilities: {},
          },
        }),
      });
      const isJson = response.headers.get('content-type')?.startsWith('application/json');
      return {
        status: response.status,
        challenge: response.headers.get('www-authenticate'),
        retryAfter: response.headers.get('retry-after'),
        body: isJson ? ((await response.json()) as Record<string, unknown>) : await response.text(),
      };
    },
  };
}

async function withIssuer(more: Partial<Parameters<typeof jwtTokens>[0]> = {}, options: Options = {}) {
  const issuer = await Issuer.start();
  const auth = jwtTokens({ issuer: issuer.url, audience, jwks: issuer.jwks, ...more });
  return { issuer, ...(await serving({ auth, ...options })) };
}

const now = () => Math.floor(Date.now() / 1_000);
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token of which header or signature are not the issuer's. */
async function forged(issuer: Issuer, header: object, signature: (signed: string) => string) {
  const [, claims] = (await issuer.sign()).split('.');
  const signed = `${part(header)}.${claims}`;
  return `${signed}.${signature(signed)}`;
}

describe('signed tokens', () => {
  test('a right one is let in', async () => {
    const { issuer, knock } = await withIssuer();
    expect(await knock(await issuer.sign())).toMatchObject({ status: 200 });
    expect(await knock(await issuer.sign({ aud: ['someone', audience] }))).toMatchObject({ status: 200 });
  });

  const wrong: [string, string, (issuer: Issuer) => Promise<string> | string][] = [
    ['one that is no JWT', 'It is not a signed JWT.', () => 'rubbish'],
    ['an expired one', 'It has expired.', (issuer) => issuer.sign({ exp: now() - 60 })],
    ['one without an end', 'It has no "exp".', (issuer) => issuer.sign({ exp: undefined })],
    ['one that is not valid yet', 'It is not valid yet.', (issuer) => issuer.sign({ nbf: now() + 60 })],
    [
      'one for another audience',
      'It is for another audience.',
      (issuer) => issuer.sign({ aud: 'https://x.example' }),
    ],
    ['one without an audience', 'It has no "aud".', (issuer) => issuer.sign({ aud: undefined })],
    [
      'one of another issuer',
      'It was issued by another issuer.',
      (issuer) => issuer.sign({ iss: 'https://x.example' }),
    ],
    ['one without a subject', 'It has no "sub".', (issuer) => issuer.sign({ sub: undefined })],
    [
      'one whose subject is no text',
      'Its "sub" must be a non-empty string.',
      (issuer) => issuer.sign({ sub: 7 }),
    ],
    ['one whose end is no number', 'Its "exp" is invalid.', (issuer) => issuer.sign({ exp: 'never' })],
    [
      'an unsigned one',
      'Its signature algorithm is not accepted here.',
      (issuer) => forged(issuer, { alg: 'none' }, () => ''),
    ],
    [
      'one whose signature was taken off',
      'Its signature is wrong.',
      (issuer) => forged(issuer, { alg: 'ES256', kid: 'first' }, () => ''),
    ],
    [
      'one signed with the public key as a secret',
      'Its signature algorithm is not accepted here.',
      (issuer) =>
        forged(issuer, { alg: 'HS256', kid: 'first' }, (signed) =>
          createHmac('sha256', JSON.stringify(issuer.keys[0]!.jwk)).update(signed).digest('base64url'),
        ),
    ],
    [
      'one that brings its own key',
      'Its signature is wrong.',
      async (issuer) => {
        const own = await signingKey('first');
        const [, claims] = (await issuer.sign({}, own)).split('.');
        const header = part({ alg: 'ES256', kid: 'first', jwk: own.jwk });
        const signed = Buffer.from(`${header}.${claims}`);
        const form = { name: 'ECDSA', hash: 'SHA-256' };
        const signature = await crypto.subtle.sign(form, own.privateKey, signed);
        return `${signed}.${Buffer.from(signature).toString('base64url')}`;
      },
    ],
    [
      'one signed with a key of someone else',
      'Its issuer does not publish the key that signed it.',
      async (issuer) => issuer.sign({}, await signingKey('unheard of')),
    ],
  ];

  test.each(wrong)('%s gets 401, and is told why', async (_, why, make) => {
    const { issuer, knock, errors } = await withIssuer({}, { resource });
    const description = `The token is not accepted. ${why}`;
    expect(await knock(await make(issuer))).toEqual({
      status: 401,
      body: { error: 'invalid_token', error_description: description },
      challenge: `Bearer error="invalid_token", error_description="${description.replaceAll('"', '\\"')}", resource_metadata="https://reports.example.com/.well-known/oauth-protected-resource/mcp"`,
      retryAfter: null,
    });
    expect(errors).toEqual([]);
  });

  test('no token gets 401 as well', async () => {
    const { knock } = await withIssuer({}, { resource });
    expect(await knock()).toMatchObject({
      status: 401,
      challenge: expect.stringContaining('resource_metadata='),
    });
  });

  test('clocks may differ a little', async () => {
    const { issuer, knock } = await withIssuer({ clockTolerance: '30s' });
    expect(await knock(await issuer.sign({ exp: now() - 20 }))).toMatchObject({ status: 200 });
    expect(await knock(await issuer.sign({ nbf: now() + 20 }))).toMatchObject({ status: 200 });
    expect(await knock(await issuer.sign({ exp: now() - 40 }))).toMatchObject({ status: 401 });
  });

  test('only algorithms that are allowed are accepted', async () => {
    const { issuer, knock } = await withIssuer({ algorithms: ['RS256'] });
    expect(await knock(await issuer.sign())).toMatchObject({ status: 401 });
    expect(issuer.fetches).toBe(0);
    issuer.keys = [await signingKey('rsa', 'RS256')];
    expect(await knock(await issuer.sign())).toMatchObject({ status: 200 });
  });

  test.each(['RS256', 'PS256', 'ES256', 'EdDSA'])('%s is known', async (algorithm) => {
    const { issuer, knock } = await withIssuer();
    issuer.keys = [await signingKey('first', algorithm)];
    expect(await knock(await issuer.sign())).toMatchObject({ status: 200 });
  });

  test.each(['none', 'HS256', 'A128KW'])('%s cannot be allowed', (algorithm) => {
    const options = { issuer: 'https://x.example', audience, jwks: [], algorithms: [algorithm] };
    expect(() => jwtTokens(options)).toThrow(withCode('INVALID_TOKEN_OPTIONS'));
  });

  test('keys are not fetched from just anybody', () => {
    const jwks = new URL('http://login.example.com/keys');
    expect(() => jwtTokens({ issuer: 'https://x.example', audience, jwks })).toThrow(
      withCode('INVALID_TOKEN_OPTIONS'),
    );
  });

  test.each(['issuer', 'audience'])('an empty %s is refused at once', (name) => {
    const options = { issuer: 'https://x.example', audience, jwks: [], [name]: '' };
    expect(() => jwtTokens(options)).toThrow(withCode('INVALID_TOKEN_OPTIONS'));
  });

  test('a token without a scope that is required gets 403', async () => {
    const { issuer, knock } = await withIssuer({ requiredScopes: ['tasks'] });
    expect(await knock(await issuer.sign())).toMatchObject({ status: 200 });
    expect(await knock(await issuer.sign({ scope: undefined, scp: ['tasks'] }))).toMatchObject({
      status: 200,
    });
    expect(await knock(await issuer.sign({ scope: 'other' }))).toMatchObject({
      status: 403,
      challenge: expect.stringContaining('scope="tasks"'),
    });
  });
});

describe('the keys of an issuer', () => {
  test('are fetched once for many tokens', async () => {
    const { issuer, knock } = await withIssuer();
    for (let i = 0; i < 5; i++) expect(await knock(await issuer.sign())).toMatchObject({ status: 200 });
    expect(issuer.fetches).toBe(1);
  });

  test('are fetched again when a token bears a new one', async () => {
    const { issuer, knock } = await withIssuer({ refetchAfter: 0 });
    const before = await issuer.sign();
    expect(await knock(before)).toMatchObject({ status: 200 });
    issuer.keys = [await signingKey('second'), ...issuer.keys];
    expect(await knock(await issuer.sign())).toMatchObject({ status: 200 });
    expect(await knock(before)).toMatchObject({ status: 200 });
    issuer.keys.pop();
    // Those that were withdrawn are good no longer once the set has been fetched anew.
    expect(await knock(await issuer.sign({}, await signingKey('third')))).toMatchObject({ status: 401 });
    expect(await knock(before)).toMatchObject({ status: 401 });
  });

  test('are not fetched for each of many tokens with keys that nobody knows', async () => {
    const { issuer, knock } = await withIssuer();
    await knock(await issuer.sign());
    const stranger = await signingKey('unheard of');
    for (let i = 0; i < 5; i++)
      expect(await knock(await issuer.sign({}, stranger))).toMatchObject({ status: 401 });
    expect(issuer.fetches).toBe(1);
  });

  test.each(['closed', 'error', 'rubbish'] as const)(
    'cannot be had (%s): 503, so that nobody throws a good token away',
    async (trouble) => {
      const { issuer, knock, errors } = await withIssuer();
      issuer.trouble = trouble;
      const token = await issuer.sign();
      expect(await knock(token)).toEqual({
        status: 503,
        body: {
          error: 'temporarily_unavailable',
          error_description: expect.stringContaining('could not be fetched'),
        },
        challenge: null,
        retryAfter: '5',
      });
      expect(errors).toHaveLength(1);
      expect(errors[0]!.cause).toBeInstanceOf(Error);
      issuer.trouble = undefined;
      expect(await knock(token)).toMatchObject({ status: 200 });
    },
  );

  test('may be several without a name: the one that fits is found', async () => {
    const { issuer, knock } = await withIssuer();
    issuer.keys = [await signingKey(undefined), await signingKey(undefined)];
    for (const key of issuer.keys)
      expect(await knock(await issuer.sign({}, key))).toMatchObject({ status: 200 });
    expect(await knock(await issuer.sign({}, await signingKey(undefined)))).toMatchObject({ status: 401 });
  });

  const forms: [string, (key: SigningKey) => Parameters<typeof jwtTokens>[0]['jwks']][] = [
    ['a list', ({ jwk }) => [jwk]],
    ['a set', ({ jwk }) => ({ keys: [jwk] })],
  ];
  test.each(forms)('may be given as %s', async (_, form) => {
    const issuer = await Issuer.start();
    const jwks = form(issuer.keys[0]!);
    const { knock } = await serving({ auth: jwtTokens({ issuer: issuer.url, audience, jwks }) });
    expect(await knock(await issuer.sign())).toMatchObject({ status: 200 });
    expect(issuer.fetches).toBe(0);
  });
});

describe('tokens that are written down', () => {
  const [ada, bob, guest] = ['ada', 'bob', 'guest'].map((name) => name.padEnd(24, 'x')) as [
    string,
    string,
    string,
  ];
  const auth = () =>
    staticTokens(
      {
        [ada]: { clientId: 'desktop', subject: 'ada', scopes: ['tasks'] },
        [bob]: { clientId: 'desktop', subject: 'bob', scopes: ['tasks'] },
        [guest]: { clientId: 'guest' },
      },
      { requiredScopes: ['tasks'] },
    );

  test('let their bearers in, and nobody else', async () => {
    const { knock } = await serving({ auth: auth() });
    expect(await knock(ada)).toMatchObject({ status: 200 });
    expect(await knock(guest)).toMatchObject({ status: 403 });
    for (const token of [ada.slice(1), `${ada}x`, '', 'x', 'constructor'])
      expect(await knock(token)).toMatchObject({ status: 401 });
  });

  test('stand for the client and the subject', async () => {
    const { url } = await serving({ auth: auth() });
    const { taskId } = (await new RawClient(url, { token: ada }).call('nap', { ms: 0 })).result;
    expect((await new RawClient(url, { token: ada }).get(taskId)).result).toMatchObject({ taskId });
    expect((await new RawClient(url, { token: bob }).get(taskId)).error).toMatchObject({ code: -32602 });
  });

  test.each(['short', 'with a space in it, and very long'])('cannot be "%s"', (token) => {
    expect(() => staticTokens({ [token]: { clientId: 'x' } })).toThrow(withCode('INVALID_TOKEN_OPTIONS'));
  });
});

test('S1686-75, S2025-95: a task belongs to issuer, subject and client of its token, however often that is renewed', async () => {
  const { issuer, url } = await withIssuer();
  const client = async (changes: object) =>
    new RawClient(url, { token: await issuer.sign({ ...changes, jti: crypto.randomUUID() }) });
  const { taskId } = (await (await client({})).call('nap', { ms: 0 })).result;
  expect((await (await client({})).get(taskId)).result).toMatchObject({ taskId });
  for (const others of [{ sub: 'bob' }, { client_id: 'phone' }, { client_id: undefined, azp: 'phone' }])
    expect((await (await client(others)).get(taskId)).error).toMatchObject({ code: -32602 });
  expect((await (await client({ client_id: undefined, azp: 'desktop' })).get(taskId)).result).toBeDefined();
});

describe('the metadata of the resource', () => {
  const path = '/.well-known/oauth-protected-resource/mcp';
  const document = {
    resource: audience,
    authorization_servers: resource.authorizationServers,
    scopes_supported: ['tasks'],
    bearer_methods_supported: ['header'],
  };

  test('is served without a token and to any page, beside what is elsewhere', async () => {
    const { url } = await withIssuer({}, { resource, elsewhere: (_, res) => res.end('elsewhere') });
    const at = (place: string, init?: RequestInit) => fetch(new URL(place, url), init);
    const answer = await at(path, { headers: { origin: 'https://page.example' } });
    expect(await answer.json()).toEqual(document);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect((await at(path, { method: 'HEAD' })).status).toBe(200);
    expect((await at(path, { method: 'OPTIONS' })).status).toBe(204);
    expect((await at(path, { method: 'POST' })).status).toBe(405);
    expect(await (await at('/.well-known/oauth-protected-resource')).text()).toBe('elsewhere');
  });

  test('is served by the handler wherever that is mounted', async () => {
    const tasks = createTasks({ store: sqlite('memory:') });
    const handler = new McpHandler(tasks, fixtureFactory(tasks), { resource });
    onTestFinished(async () => {
      await handler.close();
      await tasks.close();
    });
    const server = express().use('/.well-known', handler.node).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    expect(await (await fetch(`http://127.0.0.1:${port}${path}`)).json()).toEqual(document);
    expect(await (await handler.fetch(new Request(`http://127.0.0.1${path}`))).json()).toEqual(document);
    expect((await handler.fetch(new Request(`http://evil.example${path}`))).status).toBe(403);
  });

  test.each([['http://login.example.com'], ['https://login.example.com/#here']])(
    'names no issuer that is not safe: %s',
    async (issuer) => {
      const tasks = createTasks({ store: sqlite('memory:') });
      const made = () =>
        new McpHandler(tasks, fixtureFactory(tasks), {
          resource: { ...resource, authorizationServers: ['https://x.example', issuer] },
        });
      expect(made).toThrow(/Issuer URL/);
    },
  );
});
