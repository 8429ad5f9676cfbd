import { expect, test } from 'vitest';
import { Lines } from './stdio.ts';

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

test('messages are read one by one, however they are split into chunks', () => {
  const lines = new Lines(1_000);
  const text = Buffer.from(
    `${JSON.stringify({ ...ping, params: { sea: 'mère' } })}\r\n${JSON.stringify(ping)}\n`,
  );
  const read: unknown[] = [];
  for (const byte of text) {
    lines.append(Buffer.from([byte]));
    const message = lines.readMessage();
    if (message) read.push(message);
  }
  expect(read).toEqual([{ ...ping, params: { sea: 'mère' } }, ping]);
  lines.append(text);
  expect(lines.readMessage()).toBeTruthy();
  expect(lines.readMessage()).toEqual(ping);
  expect(lines.readMessage()).toBeNull();
});

test('text that is not JSON is skipped, an invalid message throws, and a malformed answer is returned', () => {
  const lines = new Lines(1_000);
  lines.append(Buffer.from(`listening\n\n[]\n{"jsonrpc":"2.0","id":"a"}\n${JSON.stringify(ping)}\n`));
  expect(() => lines.readMessage()).toThrow();
  expect(lines.readMessage()).toEqual({ jsonrpc: '2.0', id: 'a' });
  expect(lines.readMessage()).toEqual(ping);
});

test('a line that is too long throws, even in small chunks', () => {
  const lines = new Lines(100);
  for (let n = 0; n < 10; n++) lines.append(Buffer.alloc(10, 'x'));
  expect(() => lines.append(Buffer.from('x'))).toThrow('more than 100 bytes');
  lines.append(Buffer.from(`${JSON.stringify(ping)}\n`));
  expect(lines.readMessage()).toEqual(ping);
});
