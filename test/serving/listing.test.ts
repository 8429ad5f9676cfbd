/** Durable resources and prompts in the lists of a real McpServer, and as bare servers show them. */
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { durablePrompt, durableResource } from '../../src/index.ts';
import {
  promptDefinition,
  registerPrompt,
  registerResource,
  resourceDefinition,
} from '../../src/server/sdk/listings.ts';

const daily = durableResource(
  'daily',
  { uri: 'report://daily', title: 'The daily', description: 'Wind and tide.', mimeType: 'text/plain' },
  async () => '',
);
const byDay = durableResource('by_day', { uri: 'report://{day}/{+path}' }, async () => '');
const review = durablePrompt(
  'review',
  {
    title: 'Review',
    argsSchema: z.object({ file: z.string().describe('What to review'), tone: z.string().optional() }),
  },
  async () => '',
);
const plain = durablePrompt('plain', { description: 'No arguments.' }, async () => '');

const client = new Client({ name: 'reader', version: '1' });

beforeAll(async () => {
  const mcp = new McpServer({ name: 'lists', version: '1' });
  for (const resource of [daily, byDay]) registerResource(mcp, resource);
  for (const prompt of [review, plain]) registerPrompt(mcp, prompt);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await mcp.connect(ours);
  await client.connect(theirs);
});
afterAll(() => client.close());

test('an McpServer lists durable resources and prompts as a bare server does', async () => {
  expect((await client.listResources()).resources).toEqual([resourceDefinition(daily)]);
  expect((await client.listResourceTemplates()).resourceTemplates).toEqual([resourceDefinition(byDay)]);
  expect((await client.listPrompts()).prompts).toEqual([review, plain].map((one) => promptDefinition(one)));
});

test('a definition says what the author said', () => {
  expect(resourceDefinition(daily)).toEqual({
    uri: 'report://daily',
    name: 'daily',
    title: 'The daily',
    description: 'Wind and tide.',
    mimeType: 'text/plain',
  });
  expect(resourceDefinition(byDay)).toEqual({
    uriTemplate: 'report://{day}/{+path}',
    name: 'by_day',
  });
  expect(promptDefinition(review)).toEqual({
    name: 'review',
    title: 'Review',
    arguments: [
      { name: 'file', description: 'What to review', required: true },
      { name: 'tone', required: false },
    ],
  });
  expect(promptDefinition(plain)).toEqual({ name: 'plain', description: 'No arguments.' });
});

test('whoever gets past the tasks is told so', async () => {
  const past = 'without going through tasks.attach()';
  await expect(client.readResource({ uri: 'report://daily' })).rejects.toThrow(past);
  await expect(client.readResource({ uri: 'report://monday/a/b' })).rejects.toThrow(past);
  await expect(client.getPrompt({ name: 'plain' })).rejects.toThrow(past);
});

test('a URI that the template does not mean is not found', async () => {
  await expect(client.readResource({ uri: 'report://monday' })).rejects.toThrow(/not found/i);
});
