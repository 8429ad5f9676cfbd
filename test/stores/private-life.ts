/**
 * A process that writes a task into a store, and a call into a registry, and keeps both open until its input ends:
 * `private-life.ts <folder>`. It says when it is ready.
 */
import { join } from 'node:path';
import { openSqlite } from 'holdfast/sqlite';
import { create } from '../../src/engine/rules/transitions.ts';
import { listCache } from '../../src/gateway/upstream/list-cache.ts';
import { aTask } from '../../src/store-testing.ts';
import { sqliteCallRegistry } from '../../src/stores/sqlite/call-registry.ts';

const folder = process.argv[2]!;
const database = await openSqlite(join(folder, 'of/tasks/tasks.db'));
await database.store.create(undefined, () => create(undefined, aTask(), Date.now()));
await database.backup(join(folder, 'of/tasks/copy.db'));
const handles = sqliteCallRegistry(join(folder, 'of/calls/calls.db'));
listCache(join(folder, 'of/lists/lists.json')).set('one', {
  capabilities: { tools: {} },
  tools: [],
  prompts: [],
  resources: [],
  resourceTemplates: [],
});
console.log('ready');
process.stdin.on('end', async () => {
  handles.close();
  await database.close();
});
process.stdin.resume();
