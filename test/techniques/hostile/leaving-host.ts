/** A host that calls, fails, closes its client, and has nothing more to do. */
import { Client } from '@modelcontextprotocol/client';
import { connectTasks } from 'holdfast/client';

const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode: 'auto' } });
const tasks = await connectTasks(client, process.argv[2]!, { handles: 'memory:', drafts: 'all' });
await tasks.callTool({ name: 't' }).catch((error: Error) => console.log(error.name));
await tasks.close();
