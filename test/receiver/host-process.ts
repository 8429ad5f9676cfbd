/** A host as a process of its own: its server speaks to it through the pipes, and the test is the person. */
import { Client } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { connectTasks } from 'holdfast/client';

let said: (answer: object) => void = () => {};
process.on('message', (answer: object) => said(answer));

await connectTasks(new Client({ name: 'host', version: '1' }), new StdioServerTransport(), {
  registry: 'memory:',
  hostedTasks: process.argv[2]!,
  drafts: 'all',
  answers: ['form'],
  answer: (question) => {
    const { promise, resolve } = Promise.withResolvers<object>();
    said = resolve;
    process.send!(question);
    return promise as Promise<never>;
  },
});
