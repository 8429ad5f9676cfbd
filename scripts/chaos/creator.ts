/**
 * A child process that creates tasks on order and acknowledges them. It may be killed at any time. Its successor
 * receives the orders again, and idempotency keys ensure one task for each.
 */
import { createTasks } from '../../src/index.ts';
import { sqlite } from '../../src/sqlite.ts';
import { send } from './child-messages.ts';
import { onOrder, options } from './child-process.ts';
import { chaosTools } from './tools.ts';
import { createVoyage, type Voyage } from './voyages.ts';

const { voyage, leg, crew } = chaosTools(options);
const tasks = createTasks({ store: sqlite(options.file), tools: [voyage, leg, crew] });

onOrder<Voyage>(async (order) => {
  const { id } = await createVoyage(tasks, voyage, order, options.run);
  send({ kind: 'created', n: order.n, id });
});
