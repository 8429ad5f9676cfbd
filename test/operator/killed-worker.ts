/** A worker that says when it has come to the third step, and waits there to be killed. */
import { createTasks } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { sqlite } from 'holdfast/sqlite';
import { climb } from './climb.ts';

const [place] = process.argv.slice(2) as [string];
const store = place.startsWith('postgres') ? postgres(place) : sqlite(place);
const third = () => {
  console.log('at the third step');
  return new Promise(() => {});
};
const tasks = createTasks({ store, tools: [climb(third)] });
await tasks.work();
