/** Questions that no honest server asks, or asks like that. */
import { MalformedAnswer, memoryCallRegistry, TaskCancelled, UnknownQuestion } from 'holdfast/client';
import { describe, expect, test } from 'vitest';
import { meet } from './meeting.ts';
import { complete, completed, created, done, Fault, Raw, type Says, sse, task, type Wire } from './server.ts';

const form = (message = 'Name?') => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: { type: 'object', properties: {} } },
});

type Taken = (answer: Wire, key: string) => boolean;

/** A task that asks all of this until it is answered. */
class Asking {
  readonly #requests: Wire;
  readonly #isTaken: Taken;
  readonly answers: Wire = {};
  isCancelled = false;

  constructor(requests: Wire, isTaken: Taken = () => true) {
    this.#requests = requests;
    this.#isTaken = isTaken;
  }

  get says(): Record<string, Says> {
    return {
      'tasks/get': () => {
        if (this.isCancelled) return task('root', 'cancelled');
        const open = Object.keys(this.#requests).filter((key) => !Object.hasOwn(this.answers, key));
        if (open.length === 0) return completed('root');
        const inputRequests = Object.fromEntries(open.map((key) => [key, this.#requests[key]]));
        return task('root', 'input_required', { inputRequests });
      },
      'tasks/update': ({ params: { inputResponses } }) => {
        for (const [key, answer] of Object.entries<Wire>(inputResponses))
          if (!this.#isTaken(answer, key)) return new Fault(-32602, `${key} does not fit.`);
        Object.assign(this.answers, inputResponses);
        return complete({});
      },
      'tasks/cancel': () => {
        this.isCancelled = true;
        return complete({});
      },
    };
  }
}

describe('a question whose answer is refused again and again', () => {
  test('is put three times, with the reason, and given up then', async () => {
    const asking = new Asking({ name: form() }, ({ action }) => action === 'cancel');
    const problems: (string | undefined)[] = [];
    const { tasks } = await meet('2026-07-28', asking.says, {
      answer: ({ problem }) => {
        problems.push(problem);
        return { action: 'accept', content: { name: 7 } };
      },
    });
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    expect(problems).toEqual([undefined, 'name does not fit.', 'name does not fit.']);
    expect(asking.answers).toEqual({ name: { action: 'cancel' } });
  });

  test('whatever it is ends the call', async () => {
    const asking = new Asking({ name: form() }, () => false);
    const { tasks, questions, server } = await meet('2026-07-28', asking.says);
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MalformedAnswer);
    expect((error as Error).message).toBe(
      'The server broke the protocol: task root refused 3 answers to its question "name" and also a cancelled answer: name does not fit..',
    );
    expect(questions).toEqual(['name', 'name', 'name']);
    expect(server.count('tasks/update')).toBe(4);
  });

  test('does not spoil the answers that came with it', async () => {
    let refusals = 0;
    const asking = new Asking({ a: form(), b: form() }, (_, key) => key === 'a' || ++refusals > 2);
    const { tasks, questions } = await meet('2026-07-28', asking.says);
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    expect(questions).toEqual(['a', 'b', 'b']);
  });
});

test('an answer that meets an internal error is sent again, and nobody is asked twice', async () => {
  const asking = new Asking({ name: form() });
  const update = asking.says['tasks/update']!;
  const { tasks, questions } = await meet('2026-07-28', {
    ...asking.says,
    'tasks/update': (asked) => (asked.before < 3 ? new Fault(-32603, 'Oh dear.') : update(asked)),
  });
  expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
  expect(questions).toEqual(['name']);
});

test('a question that this host cannot answer ends the task, once', async () => {
  const asking = new Asking({ name: { method: 'sampling/createMessage', params: { messages: [] } } });
  const { tasks, server, questions } = await meet('2026-07-28', asking.says, {
    answer: () => Promise.reject(new Error('No.')),
  });
  await expect(tasks.callTool({ name: 't' })).rejects.toThrow(TaskCancelled);
  expect(server.count('tasks/cancel')).toBe(1);
  expect(questions).toEqual([]);
});

describe('a question of an unknown kind ends the call, and leaves its task for who can answer:', () => {
  const strange = { method: 'dreams/tell', params: {} };

  test('on 2026-07-28, before anything else is asked', async () => {
    const asking = new Asking({ name: form(), dream: strange });
    const handles = memoryCallRegistry();
    const { tasks, server, questions } = await meet('2026-07-28', asking.says, { registry: handles });
    const handle = await tasks.call('t');
    const error = await handle.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnknownQuestion);
    expect((error as Error).message).toBe(
      'Task root asks a question of an unknown kind, "dreams/tell", and waits for the answer. Answer it with a client that knows this kind and then resume the call, or cancel the task.',
    );
    expect(questions).toEqual([]);
    expect([server.count('tasks/cancel'), server.count('tasks/update')]).toEqual([0, 0]);
    // Somebody else answers, and whoever comes back gets the result.
    asking.answers.dream = asking.answers.name = {};
    expect(handles.list({ onlyOpen: true })).toHaveLength(1);
    expect(await (await tasks.resume(handle.id)).result()).toMatchObject(done);
  });

  test('on 2026-07-28, in a subtask', async () => {
    const { tasks, server } = await meet(
      '2026-07-28',
      {
        'tasks/get': ({ params: { taskId } }) =>
          taskId === 'root'
            ? task('root', 'working', { childTaskIds: ['a'] })
            : task('a', 'input_required', { inputRequests: { dream: strange } }),
      },
      { drafts: 'all' },
    );
    await expect(tasks.callTool({ name: 't' })).rejects.toThrow(UnknownQuestion);
    expect(server.count('tasks/cancel')).toBe(0);
  });

  test('on 2026-07-28, before there is a task', async () => {
    const { tasks } = await meet('2026-07-28', {
      'tools/call': () => ({ resultType: 'input_required', inputRequests: { dream: strange } }),
    });
    const error = await tasks.callTool({ name: 't' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnknownQuestion);
    expect((error as Error).message).toContain('"dreams/tell"');
  });

  /** Asks so on the stream of the result, and does not mind that nobody understands. */
  function insisting(taskId: string, statusAfter: string) {
    const refusals: Wire[] = [];
    const _meta = { 'io.modelcontextprotocol/related-task': { taskId } };
    const says: Record<string, Says> = {
      'tasks/get': () => task('root', refusals.length > 0 ? statusAfter : 'input_required'),
      'tasks/result': () =>
        new Raw((response) => {
          response.setHeader('content-type', 'text/event-stream');
          response.write(sse({ jsonrpc: '2.0', id: 'q1', ...strange, params: { _meta } }));
        }),
      response: ({ params }) => {
        refusals.push(params.error);
        return undefined;
      },
    };
    return { says, refusals };
  }

  test('on 2025-11-25, if the task goes on waiting', async () => {
    const { says, refusals } = insisting('root', 'input_required');
    const handles = memoryCallRegistry();
    const { tasks, server } = await meet('2025-11-25', says, { registry: handles });
    const handle = await tasks.call('t');
    const error = await handle.result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UnknownQuestion);
    expect((error as Error).message).toContain('"dreams/tell"');
    await expect.poll(() => refusals).toEqual([{ code: -32601, message: expect.any(String) }]);
    expect(server.count('tasks/cancel')).toBe(0);
    server.says.set('tasks/get', () => completed('root')).set('tasks/result', () => done);
    expect(handles.list({ onlyOpen: true })).toHaveLength(1);
    expect(await (await tasks.resume(handle.id)).result()).toMatchObject(done);
  });

  test('on 2025-11-25 it goes on if the task does, which was told that nobody understands', async () => {
    const { says, refusals } = insisting('root', 'working');
    const { tasks, server } = await meet('2025-11-25', says);
    const handle = await tasks.call('t');
    await expect.poll(() => refusals.length).toBeGreaterThan(0);
    const polls = server.count('tasks/get');
    await expect.poll(() => server.count('tasks/get')).toBeGreaterThan(polls + 5);
    server.says.set('tasks/get', () => completed('root')).set('tasks/result', () => done);
    expect(await handle.result()).toMatchObject(done);
  });

  test('on 2025-11-25 it goes on, too, if the task learns only after some polls that nobody understands', async () => {
    const { says, refusals } = insisting('root', 'working');
    let polls = 0;
    let learn: (() => void) | undefined;
    const { tasks, server } = await meet('2025-11-25', {
      ...says,
      'tasks/get': () => {
        if (learn && ++polls === 3) learn();
        return task('root', refusals.length > 0 ? 'working' : 'input_required');
      },
      response: ({ params }) =>
        new Raw((response) => {
          learn = () => {
            refusals.push(params.error);
            response.writeHead(202).end();
          };
        }),
    });
    const handle = await tasks.call('t');
    await expect.poll(() => refusals.length).toBe(1);
    server.says.set('tasks/get', () => completed('root')).set('tasks/result', () => done);
    expect(await handle.result()).toMatchObject(done);
  });

  test('on 2025-11-25 a kind that the host has a handler for is not unknown', async () => {
    const { says } = insisting('root', 'completed');
    const { tasks, server } = await meet('2025-11-25', says);
    const told: string[] = [];
    tasks.client.fallbackRequestHandler = async ({ method }) => {
      told.push(method);
      await expect.poll(() => server.count('tasks/get')).toBeGreaterThan(5);
      server.says.set('tasks/result', () => done);
      return {};
    };
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    expect(told).toEqual(['dreams/tell']);
  });
});

test('a question that nobody wants to answer is cancelled, also if the host gives nonsense', async () => {
  for (const answer of [() => Promise.reject(new Error('No.')), () => undefined, () => 'yes']) {
    const asking = new Asking({ name: form() });
    const { tasks } = await meet('2026-07-28', asking.says, { answer: answer as never });
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    expect(asking.answers).toEqual({ name: { action: 'cancel' } });
  }
});

test('names that mean something to JavaScript are names', async () => {
  const asking = new Asking(
    JSON.parse(`{"__proto__": ${JSON.stringify(form())}, "constructor": ${JSON.stringify(form())}}`),
  );
  const { tasks, questions, server } = await meet('2026-07-28', asking.says);
  server.says.set('tasks/update', ({ params: { inputResponses } }) => {
    for (const key of Object.keys(inputResponses))
      Object.defineProperty(asking.answers, key, { value: inputResponses[key], enumerable: true });
    return complete({});
  });
  expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
  expect(questions.sort()).toEqual(['__proto__', 'constructor']);
});

test('a question that comes while another is open is put at once', async () => {
  let later = false;
  const asked: string[] = [];
  const { tasks } = await meet(
    '2026-07-28',
    {
      'tasks/get': () =>
        asked.includes('second answered')
          ? completed('root')
          : task('root', 'input_required', {
              inputRequests: { first: form(), ...(later && { second: form() }) },
            }),
      'tasks/update': ({ params: { inputResponses } }) => {
        asked.push(`${Object.keys(inputResponses)} answered`);
        return complete({});
      },
    },
    {
      answer: ({ key }) => {
        asked.push(key);
        if (key === 'second') return { action: 'accept', content: {} };
        later = true;
        return new Promise(() => {});
      },
    },
  );
  expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
  expect(asked).toEqual(['first', 'second', 'second answered']);
});

test('a question of a task that is over is taken back', async () => {
  const taken = Promise.withResolvers<void>();
  let isTaken = false;
  const { tasks } = await meet(
    '2026-07-28',
    {
      'tasks/get': ({ params: { taskId }, before }) => {
        if (taskId === 'root')
          return task('root', isTaken ? 'completed' : 'working', {
            childTaskIds: ['a'],
            result: complete(done),
          });
        return before < 5 ? task('a', 'input_required', { inputRequests: { q: form() } }) : completed('a');
      },
    },
    {
      drafts: 'all',
      answer: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            isTaken = true;
            taken.resolve();
            reject(signal.reason);
          });
        }),
    },
  );
  const handle = await tasks.call('t');
  await taken.promise;
  expect(await handle.result()).toMatchObject(done);
});

describe('on 2025-11-25', () => {
  const push = (id: string, message: string, taskId = 'root') => {
    const { method, params } = form(message);
    const _meta = { 'io.modelcontextprotocol/related-task': { taskId } };
    return { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
  };

  /** Puts these questions on the stream of tasks/result, each when the one before is answered. */
  function putting(questions: readonly Wire[], again = 0): Record<string, Says> {
    let next = 0;
    let write: (message: Wire) => void = () => {};
    return {
      'tasks/get': () => task('root', next < questions.length ? 'input_required' : 'completed'),
      'tasks/result': ({ id }) =>
        new Raw((response) => {
          response.setHeader('content-type', 'text/event-stream');
          write = (message) => response.write(sse(message));
          if (next < questions.length) write(questions[next]!);
          else response.end(sse({ jsonrpc: '2.0', id, result: done }));
          if (next === 0 && again-- > 0) response.end();
        }),
      response: () => {
        if (++next < questions.length) write(questions[next]!);
        return undefined;
      },
    };
  }

  test('the same question, asked again after it was answered, is another question', async () => {
    const { tasks, questions } = await meet(
      '2025-11-25',
      putting([push('q1', 'More?'), push('q2', 'More?'), push('q3', 'More?')]),
    );
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    expect(questions).toHaveLength(3);
  });

  test('the same question, on another stream because the first one died, is the same question', async () => {
    let asked = 0;
    const { tasks } = await meet('2025-11-25', putting([push('q1', 'Name?')], 3), {
      answer: async () => {
        asked++;
        await new Promise((resolve) => setTimeout(resolve, 300));
        return { action: 'accept', content: {} };
      },
    });
    expect(await tasks.callTool({ name: 't' })).toMatchObject(done);
    expect(asked).toBe(1);
  });

  test('a question of a subtask that nobody has met is kept with the call it belongs to', async () => {
    let isAnswered = false;
    const handles = memoryCallRegistry();
    const kept: string[] = [];
    const { tasks } = await meet(
      '2025-11-25',
      {
        'tools/call': ({ before }) => created('2025-11-25', before === 0 ? 'other' : 'root'),
        'tasks/get': ({ params: { taskId } }) => {
          if (taskId === 'deep') return task('deep', 'input_required', { parentTaskId: 'child' });
          if (taskId === 'child') return task('child', 'working', { parentTaskId: 'root' });
          if (taskId === 'other') return task('other', isAnswered ? 'completed' : 'working');
          return task('root', isAnswered ? 'completed' : 'input_required');
        },
        'tasks/result': ({ params, id }) =>
          new Raw((response) => {
            response.setHeader('content-type', 'text/event-stream');
            if (isAnswered) return void response.end(sse({ jsonrpc: '2.0', id, result: done }));
            if (params.taskId === 'root') response.write(sse(push('q1', 'Deep?', 'deep')));
          }),
        response: () => {
          isAnswered = true;
          return undefined;
        },
      },
      {
        registry: {
          ...handles,
          save: (record) => {
            for (const at of Object.keys(record.answers)) kept.push(`${record.taskId}: ${at.split(' ')[0]}`);
            handles.save(record);
          },
        },
      },
    );
    const calls = [await tasks.call('t'), await tasks.call('t')];
    for (const call of calls) expect(await call.result()).toMatchObject(done);
    expect(new Set(kept)).toEqual(new Set(['root: deep']));
  });
});
