/** Only the files of the dashboard are served, with a strict content security policy. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { createTasks } from 'holdfast';
import { OperatorHandler } from 'holdfast/server';
import { openSqlite } from 'holdfast/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { dashboardFile } from '../../src/server/http/operator/dashboard-files.ts';
import { temporaryFolder } from '../kit/lifetime.ts';
import { operatorToken, send, stage } from './stage.ts';

function built(): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'dist/assets'), { recursive: true });
  writeFileSync(join(folder, 'secret.txt'), 'secret');
  writeFileSync(join(folder, 'dist/index.html'), '<!doctype html>');
  writeFileSync(join(folder, 'dist/icon.svg'), '<svg/>');
  writeFileSync(join(folder, 'dist/assets/index-B3k.js'), 'export {};');
  writeFileSync(join(folder, 'dist/assets/index-B3k.css'), ':root {}');
  return join(folder, 'dist');
}

test.each([
  ['', 'text/html; charset=utf-8', 'no-store'],
  ['index.html', 'text/html; charset=utf-8', 'no-store'],
  ['icon.svg', 'image/svg+xml', 'no-store'],
  ['assets/index-B3k.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable'],
  ['assets/index-B3k.css', 'text/css; charset=utf-8', 'public, max-age=31536000, immutable'],
])('"%s" is %s, kept: %s', async (path, type, caching) => {
  const { status, headers } = await dashboardFile(path, built());
  expect(status).toBe(200);
  expect(Object.fromEntries(headers)).toEqual({
    'content-type': type,
    'cache-control': caching,
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
  });
});

test.each([
  '../secret.txt',
  'assets/../../secret.txt',
  '/etc/passwd',
  '%2e%2e/secret.txt',
  '.hidden',
  'assets',
  'assets/none.js',
  'a\0b',
])('"%s" is no file of the dashboard', async (path) => {
  expect((await dashboardFile(path, built())).status).toBe(404);
});

test('the error for a missing dashboard build explains how to build it', async () => {
  const response = await dashboardFile('', join(tmpdir(), 'holdfast-not-built'));
  expect(response.status).toBe(503);
  expect(await response.text()).toContain('npm run prepare');
});

test('the files need no token, and a missing trailing slash redirects', async () => {
  const { origin } = await stage({ works: false });
  expect(await send(`${origin}/operator`)).toMatchObject({
    status: 308,
    headers: { location: '/operator/' },
  });
  expect((await send(`${origin}/operator/`)).headers['content-type']).toBe('text/html; charset=utf-8');
  expect((await send(`${origin}/operator/`, { method: 'POST' })).status).toBe(405);
  expect((await send(`${origin}/operator/..%2f..%2fpackage.json`)).status).toBe(404);
  expect((await send(`${origin}/operator/`, { headers: { host: 'rebound.example' } })).status).toBe(403);
});

test('on Express it is the same handler, whether or not the body was parsed before', async () => {
  const tasks = createTasks({ store: () => openSqlite('memory:') });
  const handler = new OperatorHandler(tasks, { operator: { token: operatorToken } });
  const server = express().use(express.json()).use('/operator', handler.node).listen(0, '127.0.0.1');
  onTestFinished(async () => {
    await handler.close();
    server.close();
    await tasks.close();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const api = `http://127.0.0.1:${port}/operator/api`;
  expect((await send(`${api}/tasks`, { token: operatorToken })).body).toEqual({ tasks: [] });
  expect((await send(`${api}/tasks`)).status).toBe(401);
  const cancel = { token: operatorToken, method: 'POST', body: { reason: 3 } };
  expect((await send(`${api}/tasks/abc/cancel`, cancel)).status).toBe(400);
});
