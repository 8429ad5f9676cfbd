import { OpenWorkflow } from 'openworkflow';
import { BackendPostgres } from 'openworkflow/postgres';
import { BackendSqlite } from 'openworkflow/sqlite';
import { type Peer, type Setting, steps, stepValue } from './adapter.ts';

export async function open({ location, isWorker, concurrency, began, returned }: Setting): Promise<Peer> {
  const backend = location.startsWith('postgres:')
    ? await BackendPostgres.connect(location)
    : BackendSqlite.connect(location);
  const client = new OpenWorkflow({ backend });
  const workflows = {
    nothing: client.defineWorkflow<{ n: number }, void>({ name: 'nothing' }, async ({ input }) => {
      began(input.n);
      returned();
    }),
    fiveSteps: client.defineWorkflow<{ n: number }, void>(
      { name: 'fiveSteps' },
      async ({ input, step: run }) => {
        began(input.n);
        for (const step of steps) await run.run({ name: `step ${step}` }, async () => stepValue(step));
        returned();
      },
    ),
  };
  const worker = isWorker ? client.newWorker({ concurrency }) : undefined;
  await worker?.start();
  return {
    async start(workflow, n) {
      const handle = await workflows[workflow].run({ n });
      return () => handle.result();
    },
    async finished() {
      const { completed } = await backend.countWorkflowRuns();
      return completed;
    },
    async close() {
      await worker?.stop();
      await backend.stop();
    },
  };
}
