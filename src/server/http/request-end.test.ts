import { expect, test } from 'vitest';
import { WebExchange } from './request-end.ts';

const reading = (gone = new AbortController()) => new WebExchange(gone.signal, 0);

test('an answer that was read to its end is delivered, and its request ends', async () => {
  const one = reading();
  const { signal } = one;
  const fate = one.fate();
  await one.of(new Response('answer')).text();
  expect(await fate).toBe('delivered');
  expect(signal.aborted).toBe(true);
});

test('an answer counts as delivered even if its fate is requested while it is being read', async () => {
  const one = reading();
  const text = one.of(new Response('answer')).text();
  const fate = one.fate();
  await text;
  expect(await fate).toBe('delivered');
});

test('an unread answer is lost', async () => {
  const one = reading();
  await one.of(new Response('answer')).body!.cancel();
  expect(await one.fate()).toBe('lost');
});

test('an answer whose reader is gone is lost', async () => {
  const gone = new AbortController();
  const one = reading(gone);
  const fate = one.fate();
  gone.abort();
  expect(await fate).toBe('lost');
});
