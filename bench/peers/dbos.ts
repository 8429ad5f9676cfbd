/** In one process workflows are started directly, without a limit; between processes through a queue. */
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { type Peer, type Setting, steps, stepValue } from './adapter.ts';

const queueName = 'bench';

export async function open({ location, isWorker, isStarter, began, returned }: Setting): Promise<Peer> {
  if (!isWorker) return openClient(location);
  const workflows = {
    nothing: DBOS.registerWorkflow(
      async (n: number) => {
        began(n);
        returned();
      },
      { name: 'nothing' },
    ),
    fiveSteps: DBOS.registerWorkflow(
      async (n: number) => {
        began(n);
        for (const step of steps) await DBOS.runStep(async () => stepValue(step), { name: `step ${step}` });
        returned();
      },
      { name: 'fiveSteps' },
    ),
  };
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: location, logLevel: 'error' });
  await DBOS.launch();
  if (!isStarter) await DBOS.registerQueue(queueName);
  return {
    async start(workflow, n) {
      const handle = await DBOS.startWorkflow(workflows[workflow])(n);
      return () => handle.getResult();
    },
    close: () => DBOS.shutdown(),
  };
}

async function openClient(location: string): Promise<Peer> {
  await DBOS.migrate(location);
  const client = await DBOSClient.create({ systemDatabaseUrl: location });
  return {
    async start(workflow, n) {
      const handle = await client.enqueue({ queueName, workflowName: workflow }, n);
      return () => handle.getResult();
    },
    close: () => client.destroy(),
  };
}
