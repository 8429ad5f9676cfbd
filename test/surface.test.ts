import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** What authors of tools have to learn. */
const maxRootNames = 25;

/** Whatever changes here changes for users: an addition is a promise, a removal breaks someone. */
test('the public entries export exactly these names', async () => {
  const surface: Record<string, string[]> = {};
  for (const [entry, target] of Object.entries<{ default: string } | string>(exports)) {
    if (typeof target === 'string') continue;
    const source = target.default.replace('./dist/', '../src/').replace(/\.js$/, '.ts');
    surface[entry.replace('.', 'holdfast')] = Object.keys(await import(source)).sort();
  }
  expect(surface.holdfast!.length).toBeLessThanOrEqual(maxRootNames);
  expect(surface).toMatchInlineSnapshot(`
    {
      "holdfast": [
        "AskTimedOut",
        "CannotBeAsked",
        "HandlerRefused",
        "HoldfastError",
        "InvalidInput",
        "InvalidOptions",
        "InvalidValue",
        "ProtocolError",
        "Refusal",
        "StepTimedOut",
        "StoreError",
        "SubtaskCancelled",
        "SubtaskFailed",
        "SubtaskLost",
        "Tasks",
        "TerminalError",
        "WaitTimedOut",
        "createTasks",
        "durablePrompt",
        "durableResource",
        "durableTool",
        "redactTask",
        "redactValue",
      ],
      "holdfast/client": [
        "ConnectionLost",
        "Detached",
        "MalformedAnswer",
        "RemoteError",
        "RequestTimedOut",
        "ServerUnreachable",
        "TaskCancelled",
        "TaskExpired",
        "TaskFailed",
        "TaskLost",
        "TaskOverdue",
        "UnknownQuestion",
        "boundedFetch",
        "connectTasks",
        "dataFolder",
        "httpTransport",
        "memoryCallRegistry",
        "openCallRegistry",
        "sqliteCallRegistry",
      ],
      "holdfast/postgres": [
        "openPostgres",
        "postgres",
      ],
      "holdfast/server": [
        "McpHandler",
        "OperatorHandler",
        "jwtTokens",
        "serveHttp",
        "serveStdio",
        "staticTokens",
      ],
      "holdfast/sqlite": [
        "openSqlite",
        "sqlite",
      ],
      "holdfast/store": [
        "Refusal",
        "StoreError",
        "TaskCorrupt",
        "refusal",
      ],
      "holdfast/store/testing": [
        "aTask",
        "applied",
        "brokenByChange",
        "brokenInvariants",
        "crashPoints",
        "killAt",
        "testAudit",
        "testCallRegistry",
        "testCalls",
        "testQueries",
        "testQueue",
        "testSecrets",
        "testSessions",
        "testStore",
      ],
      "holdfast/telemetry": [
        "telemetry",
      ],
      "holdfast/testing": [
        "ManualClock",
        "runTool",
      ],
    }
  `);
});
