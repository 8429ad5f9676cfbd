import { expect, test } from 'vitest';
import { Place } from '../../serving/place.ts';
import { serve } from '../../serving/server-process.ts';
import { opened } from '../drafts/peer.ts';
import { Peer } from '../revision-2025-11-25/peer.ts';
import { accept, continuing, draft } from './peer.ts';

test('S2339-24: a server killed while a question is open: the same session answers the next, and no work begins anew', async () => {
  const place = new Place();
  const settings = { file: place.database, drafts: [draft] };
  const first = await serve(settings);
  const session = await opened(first.url, [draft]);
  const before = continuing(session);
  const taskId = await before.start('ask', { trace: place.work().trace });
  const questions = await before.questions(taskId);
  await first.kill();

  const second = await serve(settings);
  const later = new Peer(second.url);
  later.sessionId = session.sessionId;
  const after = continuing(later);
  expect((await after.continue(taskId)).result).toEqual(questions);
  expect((await after.get(taskId)).status).toBe('input_required');
  await after.continue(taskId, { name: accept({ name: 'Ada' }) });
  expect((await after.end(taskId)).result.content[0].text).toBe('Hello, Ada!');
  expect(place.trace()).toEqual(['before', 'after Ada']);
});
