/** A host that calls, fails, closes its client, and has nothing more to do. */
import { connectTasks } from 'holdfast/client';
import { sdkClient } from '../../kit/sdk.ts';

const tasks = await connectTasks(sdkClient('auto'), process.argv[2]!, { registry: 'memory:', drafts: 'all' });
await tasks.callTool({ name: 't' }).catch((error: Error) => console.log(error.name));
await tasks.close();
