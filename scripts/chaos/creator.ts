/**
 * A child process that creates the tasks it is told to, and says so when they are there. It may be killed at any
 * moment: whoever takes its place is told again, and the idempotency keys see to it that there is one task for each.
 */
import { createTasks } from '../../src/index.ts';
import { sqlite } from '../../src/sqlite.ts';
import { onOrder, options } from './child-process.ts';
import { say } from './said.ts';
import { chaosTools } from './tools.ts';
import { createVoyage, type Voyage } from './voyages.ts';

const { voyage, leg, crew } = chaosTools(options);
const tasks = createTasks({ store: sqlite(options.file), tools: [voyage, leg, crew] });

onOrder<Voyage>(async (order) => {
  const { id } = await createVoyage(tasks, voyage, order, options.run);
  say({ kind: 'created', n: order.n, id });
});
