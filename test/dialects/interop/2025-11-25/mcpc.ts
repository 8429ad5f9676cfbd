/**
 * `mcpc`, Apify's command line. Each of its sessions lives in a background process, the bridge.
 *
 * It knows no elicitation, and it stands on the SDK's first generation: a call that waits for its task drops the result
 * of a task that failed, although an error result is one; `tasks-result` prints it.
 */
import { equal, match, ok } from 'node:assert/strict';
import { type Cases, casesOf, type InteropCase, says, titled } from '../case.ts';
import { CommandLine, type Said } from '../command-line.ts';
import type { World } from '../world.ts';

const session = '@fixture';

class Mcpc extends CommandLine {
  constructor(home: string) {
    super(home, 'mcpc', ['--json'], { MCPC_HOME_DIR: home });
  }

  call(...words: string[]): Promise<Said> {
    return this.run(session, 'tools-call', ...words);
  }

  task(command: 'get' | 'result' | 'cancel', taskId: unknown): Promise<Said> {
    return this.run(session, `tasks-${command}`, String(taskId));
  }

  /** What it keeps on disk about the session: the bridge, and the id by which the server knows it. */
  get session(): { readonly pid: number; readonly mcpSessionId: string } | undefined {
    return JSON.parse(this.kept('sessions.json') ?? '{"sessions":{}}').sessions[session];
  }

  protected override pid(): number | undefined {
    return this.session?.pid;
  }
}

async function connectTo(world: World, url: URL): Promise<Mcpc> {
  const mcpc = await world.own(Promise.resolve(new Mcpc(world.folder())));
  const { answer } = await mcpc.run('connect', url.href, session);
  equal(answer.protocolVersion, '2025-11-25');
  return mcpc;
}

const cases: Cases<Mcpc> = {
  async 'a call as a task prints its result; if that is an error, only tasks-result does'(mcpc) {
    const { code, answer } = await mcpc.call('slow_compute', 'seconds:=0.5', 'label:=tides', '--task');
    equal(code, 0);
    says(answer, 'done tides');
    ok('_meta' in answer, 'It was no task.');
    const failed = await mcpc.call('failing_job', '--task');
    equal(failed.code, 2);
    const [, taskId] = /Task (\w+) failed/.exec(failed.answer.error as string) ?? [];
    const result = await mcpc.task('result', taskId);
    equal(result.answer.isError, true);
    says(result.answer, 'The job failed, as it always does.');
  },
  async 'a detached task is looked at, and cancelled, by later commands'(mcpc) {
    const { taskId } = (await mcpc.call('nap', 'ms:=600000', '--detach')).answer;
    equal((await mcpc.task('get', taskId)).answer.status, 'working');
    equal((await mcpc.task('cancel', taskId)).answer.status, 'cancelled');
  },
};

const killed = titled({
  async 'mcpc: a detached task is fetched after its bridge and the server were killed, in the same session'(
    world,
  ) {
    await using server = await world.lasting();
    await using mcpc = await connectTo(world, server.url);
    const { answer } = await mcpc.call('slow_compute', 'seconds:=2', 'label:=tides', '--detach');
    const { mcpSessionId } = mcpc.session!;
    match(mcpSessionId, /^\w+$/);
    await mcpc.endBackground('SIGKILL');
    await server.kill();
    await server.start();
    says((await mcpc.task('result', answer.taskId)).answer, 'done tides');
    equal(mcpc.session!.mcpSessionId, mcpSessionId);
  },
});

export const mcpc: readonly InteropCase[] = [
  ...casesOf('mcpc', async (world) => connectTo(world, await world.url), cases),
  ...killed,
];
