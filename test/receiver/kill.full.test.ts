/** A host that is killed while a person thinks: the question is put again, and the server goes on asking for the answer. */
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { untilEnd } from '../kit/lifetime.ts';
import { Program, sources } from '../kit/process.ts';
import {
  accepted,
  entrust,
  flags,
  form,
  RawServer,
  type RawServerOptions,
  sharedStore,
} from './raw-server.ts';

class HostProcess extends Program {
  readonly server: RawServer;
  readonly questions: object[] = [];

  constructor(store: string, says?: RawServerOptions) {
    const program = join(import.meta.dirname, 'host-process.ts');
    super(sources(program, store), { stdio: ['pipe', 'pipe', 'inherit', 'ipc'] });
    this.server = new RawServer(says);
    this.child.on('message', (question) => this.questions.push(question as object));
    this.lines.on('line', (line) => this.server.hear(JSON.parse(line)));
    this.server.speakThrough((message) => this.tell(message));
    untilEnd(this);
  }

  async ready(): Promise<this> {
    await this.server.notified('notifications/initialized');
    return this;
  }

  async wasAsked(times = 1): Promise<void> {
    while (this.questions.length < times) await once(this.child, 'message');
  }

  says(answer: object): void {
    this.child.send(answer);
  }
}

test('a host that is killed puts the question again, and once it is answered never more', async () => {
  const store = sharedStore();
  const first = await new HostProcess(store).ready();
  const { taskId } = await entrust(first.server);
  await first.wasAsked();
  await first.kill();

  const second = await new HostProcess(store).ready();
  const { result: meanwhile } = await second.server.request('tasks/get', { taskId });
  expect(meanwhile).toMatchObject({ taskId, status: 'working' });
  await second.wasAsked();
  expect(second.questions).toMatchObject([{ kind: 'form', message: form.message }]);
  const waiting = second.server.ask('tasks/result', { taskId });
  second.says(accepted);
  expect((await second.server.answerTo(waiting)).result).toMatchObject(accepted);
  const { params } = await second.server.notified('notifications/tasks/status');
  expect(params).toMatchObject({ taskId, status: 'completed' });
  await second.kill();

  const third = await new HostProcess(store).ready();
  expect((await third.server.request('tasks/result', { taskId })).result).toMatchObject(accepted);
  const { result } = await third.server.request('tasks/list');
  expect(result.tasks).toMatchObject([{ taskId, status: 'completed' }]);
  expect(third.questions).toEqual([]);
});

test('S1686-02 a named task outlives the host that held it, and its name leads to it', async () => {
  const store = sharedStore();
  const first = await new HostProcess(store).ready();
  const _meta = { 'modelcontextprotocol.io/task': { taskId: 'named' } };
  first.server.ask('elicitation/create', { ...form, _meta });
  await first.wasAsked();
  await first.kill();

  const second = await new HostProcess(store).ready();
  const about = { taskId: 'named', _meta: { 'modelcontextprotocol.io/related-task': { taskId: 'named' } } };
  const again = await second.server.request('elicitation/create', { ...form, _meta });
  expect(again.error.code).toBe(-32602);
  await second.wasAsked();
  second.says(accepted);
  await expect
    .poll(async () => (await second.server.request('tasks/get', about)).result.status)
    .toBe('completed');
  expect((await second.server.request('tasks/result', about)).result).toMatchObject(accepted);
  expect(second.questions).toHaveLength(1);
});

test('a question that was not a task yet goes with the host that was asked', async () => {
  const store = sharedStore();
  const says = flags('sep-2229');
  const first = await new HostProcess(store, says).ready();
  first.server.ask('elicitation/create', form);
  await first.wasAsked();
  await first.kill();

  const second = await new HostProcess(store, says).ready();
  const { taskId } = (await second.server.request('elicitation/create', form)).result.task;
  expect((await second.server.request('tasks/list')).result.tasks).toMatchObject([{ taskId }]);
  expect(second.questions).toHaveLength(1);
});
