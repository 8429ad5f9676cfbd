// A server that requires tokens: signed by an authorization server or, without one, by this example.
//   npm run example examples/tokens/tokens.ts
//   npm run example examples/tokens/tokens.ts -- --issuer https://login.example.com/
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { McpServer } from '@modelcontextprotocol/server';
import { createTasks, durableTool } from 'holdfast';
import { jwtTokens, serveHttp, staticTokens } from 'holdfast/server';
import { sqlite } from 'holdfast/sqlite';

const { values } = parseArgs({
  options: {
    db: { type: 'string', default: '.holdfast/tokens.db' },
    port: { type: 'string', default: '7420' },
    issuer: { type: 'string' },
  },
});

const patience = durableTool('patience', { description: 'Takes its time.', task: 'always' }, (_, task) =>
  task.sleep('1s').then(() => 'It was worth it.'),
);
const tasks = createTasks({ store: sqlite(values.db), tools: [patience] });
await tasks.work();

function signed(issuer: string) {
  return {
    auth: jwtTokens({
      issuer,
      audience: 'https://reports.example.com/mcp',
      jwks: new URL('.well-known/jwks.json', issuer),
      requiredScopes: ['reports'],
    }),
    resource: {
      url: 'https://reports.example.com/mcp',
      authorizationServers: [issuer],
      scopes: ['reports'],
    },
    allowedHosts: ['reports.example.com', '127.0.0.1'],
  };
}

function writtenDown() {
  const token = process.env.TOKEN ?? randomBytes(32).toString('base64url');
  if (!process.env.TOKEN) console.log(`token ${token}`);
  return { auth: staticTokens({ [token]: { clientId: 'laptop', subject: 'ada' } }) };
}

const server = await serveHttp(
  tasks,
  () => {
    const mcp = new McpServer({ name: 'reports', version: '1.0.0' });
    tasks.attach(mcp);
    return mcp;
  },
  { port: Number(values.port), ...(values.issuer ? signed(values.issuer) : writtenDown()) },
);
console.log(`ready ${server.url}`);
