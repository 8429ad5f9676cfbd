/** `mcpdo`, the Inspector's command line. */
import { deepEqual, equal, match } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type Cases, casesOf, type InteropCase, oneByOne, says } from './case.ts';
import { CommandLine } from './command-line.ts';
import type { World } from './world.ts';

class Mcpdo extends CommandLine {
  constructor(home: string) {
    super(home, 'mcpdo', ['--format', 'json', '--connection', 'fixture'], {
      MCP_INSPECTOR_DAEMON_DIR: home,
      MCP_INSPECTOR_DAEMON_TOKEN: randomUUID(),
      MCP_INSPECTOR_SECRET_STORE: 'memory',
    });
  }

  protected override pid(): number | undefined {
    const pid = this.kept('mcpdod.lock');
    return pid === undefined ? undefined : Number(pid);
  }
}

/**
 * Connected once for all cases that are run one by one: each command is a process already, and what one call asks is
 * printed by every command on the connection.
 */
export async function connectMcpdo(world: World, url: URL, user = 'inspector') {
  const mcpdo = await world.shared(`mcpdo of ${user}`, async () => {
    const one = new Mcpdo(world.folder());
    const { answer } = await one.run('connect', url.href, '--era', 'modern');
    equal(answer.protocolEra, 'modern');
    return one;
  });
  // It stays until the world ends.
  return { run: (...words: string[]) => mcpdo.run(...words), async [Symbol.asyncDispose]() {} };
}

const cases: Cases<Awaited<ReturnType<typeof connectMcpdo>>> = {
  async 'a durable tool is called, and its result printed'(mcpdo) {
    const { code, answer } = await mcpdo.run('tools/call', 'slow_compute', 'seconds:=0.5', 'label:=tides');
    equal(code, 0);
    says(answer, 'done tides');
  },
  async 'a tool for clients with tasks only is called, and its error result printed'(mcpdo) {
    const { code, answer } = await mcpdo.run('tools/call', 'failing_job');
    deepEqual([code, answer.isError], [5, true]);
  },
  async 'a question of a task is printed, and answered by another command'(mcpdo) {
    const asked = await mcpdo.run('tools/call', 'ask_name');
    const pending = asked.answer.elicitationPending as Record<string, string>;
    equal(pending.origin, 'task-input-required');
    match(pending.message!, /What is your name/);
    const { answer } = await mcpdo.run('elicitation/respond', pending.elicitationId!, 'name:=Ada');
    says(answer, 'Hello, Ada!');
  },
};

export const inspector: readonly InteropCase[] = oneByOne(
  'mcpdo',
  casesOf('mcpdo', async (world) => connectMcpdo(world, await world.url), cases),
);
