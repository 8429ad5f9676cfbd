/** Another process on the same store: removes the trees whose ids it is sent. */
import { openSqlite } from 'holdfast/sqlite';
import { remove } from '../../../src/engine/rules/transitions.ts';

const { store } = await openSqlite(process.argv[2]!);
process.on(
  'message',
  (id: string) => void store.update('family', id, (family) => remove(family, Date.now())),
);
process.send!('ready');
