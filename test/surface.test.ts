import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** Whatever changes here changes for users: an addition is a promise, a removal breaks someone. */
test('the public entries export exactly these names', async () => {
  const surface: Record<string, string[]> = {};
  for (const [entry, target] of Object.entries<{ default: string } | string>(exports)) {
    if (typeof target === 'string') continue;
    const source = target.default.replace('./dist/', '../src/').replace(/\.js$/, '.ts');
    surface[entry.replace('.', 'holdfast')] = Object.keys(await import(source)).sort();
  }
  expect(surface).toMatchInlineSnapshot(`
    {
      "holdfast": [
        "AlreadyPublished",
        "AskTimedOut",
        "AttachedTooLate",
        "BadAnswer",
        "BeingDelivered",
        "CannotBeAsked",
        "ClaimLost",
        "DeadlineNotReached",
        "DuplicateTool",
        "HandlerRefused",
        "HoldfastError",
        "IdempotencyKeyReused",
        "InvalidDuration",
        "InvalidInput",
        "InvalidTool",
        "NotARoot",
        "NotClaimable",
        "NotJson",
        "ProtocolError",
        "Refusal",
        "StepTimedOut",
        "StillAlive",
        "StillRetained",
        "StoreBusy",
        "StoreClosed",
        "StoreCorrupt",
        "StoreError",
        "StoreFull",
        "StoreNotOpened",
        "StoreNotUnlocked",
        "StoreReadOnly",
        "StoreTooNew",
        "SubtaskCancelled",
        "SubtaskFailed",
        "SubtaskLost",
        "SubtaskOfAnotherKind",
        "TaskIsDone",
        "TaskIsEnding",
        "TaskMoved",
        "TaskNotFound",
        "Tasks",
        "TerminalError",
        "UnknownTool",
        "ValueTooLarge",
        "WaitTimedOut",
        "createTasks",
        "durablePrompt",
        "durableResource",
        "durableTool",
      ],
      "holdfast/server": [
        "AttachedTooLate",
        "McpHandler",
        "serveHttp",
        "serveStdio",
      ],
      "holdfast/sqlite": [
        "openSqlite",
        "sqlite",
      ],
      "holdfast/testing": [
        "ManualClock",
        "NothingLeftToWaitFor",
        "UnansweredQuestion",
        "aTask",
        "applied",
        "brokenByChange",
        "brokenInvariants",
        "crashPoints",
        "killAt",
        "runTool",
        "testQueue",
        "testSecrets",
        "testSessions",
        "testStore",
      ],
    }
  `);
});
