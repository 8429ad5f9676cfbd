/** The test suite for every call registry. */
import assert from 'node:assert/strict';
import type { CallRecord, CallRegistry } from '../../client/call-registry.ts';
import { HoldfastError } from '../../model/errors.ts';
import type { TestFunction } from './suite.ts';

/** A new, empty location for a call registry. */
export interface CallRegistryPlace {
  /** Opens the registry. Called again, it opens the same registry a second time, like another process. */
  open(): CallRegistry;
  /** Makes the stored records unreadable; called after the registry was closed. Absent if that is not possible. */
  damage?(): Promise<void> | void;
  /** Deletes the location after the test. All registries are closed by then. */
  remove(): Promise<void> | void;
}

export interface CallRegistrySuiteOptions {
  readonly test: TestFunction;
  /** Creates the location for one test. */
  readonly place: () => Promise<CallRegistryPlace> | CallRegistryPlace;
  /** If records do not outlive the registry: the reason. Tests that open a registry again are then skipped. */
  readonly notKept?: string;
}

const record: CallRecord = {
  id: 'a',
  server: 'reef',
  method: 'tools/call',
  params: { name: 'publish_report', arguments: { topic: 'tides' } },
  idempotencyKey: 'key',
  createdAt: 1_000,
  answers: {},
  isDelivered: false,
};

/** A record with all optional fields, and with texts that need care. */
const everything: CallRecord = {
  ...record,
  target: { url: 'https://reef.example/mcp' },
  dialect: '2026-07-28',
  taskId: 'task',
  answers: { 'task name': { action: 'accept', content: { name: 'Kelp – 海藻 🌊', '': null } } },
  ending: { kind: 'result', result: { content: [{ type: 'text', text: 'done\u0000\u2028"\\' }] } },
  isDelivered: true,
};

interface Bench {
  readonly handles: CallRegistry;
  /** Opens the same registry a second time, like another process. */
  open(): CallRegistry;
  readonly here: CallRegistryPlace;
}

export function testCallRegistry({ test, place, notKept }: CallRegistrySuiteOptions): void {
  const check = (title: string, run: (bench: Bench) => Promise<void> | void) => {
    test(title, async () => {
      const here = await place();
      const opened: CallRegistry[] = [];
      const open = () => {
        const handles = here.open();
        opened.push(handles);
        return handles;
      };
      try {
        await run({ handles: open(), open, here });
      } finally {
        for (const handles of opened) handles.close();
        await here.remove();
      }
    });
  };
  const checkKept = notKept === undefined ? check : () => {};

  check('a handle is read back as last saved', ({ handles }) => {
    assert.equal(handles.get('a'), undefined);
    assert.deepEqual(handles.list(), []);
    for (const saved of [everything, record]) {
      handles.save(saved);
      assert.deepEqual(handles.get('a'), saved);
      assert.deepEqual(handles.list(), [saved]);
    }
  });

  check('later changes of a record object do not affect the stored record', ({ handles }) => {
    const mine = structuredClone(everything) as { answers: Record<string, object>; params: object };
    handles.save(mine as unknown as CallRecord);
    mine.answers.other = {};
    const read = handles.get('a') as unknown as typeof mine;
    read.answers.another = {};
    (handles.list()[0] as unknown as typeof mine).params = {};
    assert.deepEqual(handles.get('a'), everything);
  });

  check('the oldest handles come first, even if they are saved again', ({ handles }) => {
    for (const id of ['c', 'a', 'd', 'b']) handles.save({ ...record, id });
    handles.save({ ...record, id: 'c', isDelivered: true });
    assert.deepEqual(ids(handles.list()), ['c', 'a', 'd', 'b']);
  });

  check('handles are found by server, and by whether they were delivered', ({ handles }) => {
    handles.save({ ...record, id: '1' });
    handles.save({ ...record, id: '2', isDelivered: true });
    handles.save({ ...record, id: '3', server: 'shore' });
    handles.save({ ...record, id: '4', server: 'shore', isDelivered: true });
    assert.deepEqual(ids(handles.list({ server: 'reef' })), ['1', '2']);
    assert.deepEqual(ids(handles.list({ onlyOpen: true })), ['1', '3']);
    assert.deepEqual(ids(handles.list({ server: 'shore', onlyOpen: true })), ['3']);
    assert.deepEqual(ids(handles.list({ server: 'nowhere' })), []);
    assert.deepEqual(ids(handles.list({})), ['1', '2', '3', '4']);
  });

  check('names of servers are compared literally', ({ handles }) => {
    for (const server of ["'; drop table handles; --", '%', '', '__proto__'])
      handles.save({ ...record, id: `of ${server}`, server });
    assert.deepEqual(ids(handles.list({ server: '%' })), ['of %']);
    assert.deepEqual(ids(handles.list({ server: '' })), ['of ']);
    assert.equal(handles.list().length, 4);
  });

  check('a deleted handle no longer exists, and can be saved again', ({ handles }) => {
    handles.save(record);
    handles.delete('a');
    handles.delete('never was');
    assert.equal(handles.get('a'), undefined);
    handles.save(record);
    assert.deepEqual(handles.list(), [record]);
  });

  check('a large handle is stored completely', ({ handles }) => {
    const text = 'x'.repeat(8 * 1024 * 1024);
    const large: CallRecord = { ...record, ending: { kind: 'result', result: { content: [{ text }] } } };
    handles.save(large);
    handles.save({ ...large, isDelivered: true });
    assert.deepEqual(handles.get('a'), { ...large, isDelivered: true });
  });

  check('many handles are kept in order', ({ handles }) => {
    const many = Array.from({ length: 300 }, (_, n) => `h${n}`);
    for (const id of many) handles.save({ ...record, id });
    assert.deepEqual(ids(handles.list({ server: 'reef', onlyOpen: true })), many);
  });

  checkKept('handles are still there when the registry is opened again', ({ handles, open }) => {
    handles.save(everything);
    handles.save({ ...record, id: 'b' });
    handles.delete('b');
    handles.close();
    assert.deepEqual(open().list(), [everything]);
  });

  checkKept('other processes see a change at once', ({ handles: one, open }) => {
    const other = open();
    one.save(record);
    assert.deepEqual(other.get('a'), record);
    other.save({ ...record, isDelivered: true });
    assert.deepEqual(one.list({ onlyOpen: true }), []);
    other.delete('a');
    assert.equal(one.get('a'), undefined);
  });

  checkKept(
    'two processes that save by turns lose nothing and see the same order',
    ({ handles: one, open }) => {
      const other = open();
      const all = Array.from({ length: 100 }, (_, n) => `h${n}`);
      for (const [n, id] of all.entries()) (n % 2 === 0 ? one : other).save({ ...record, id });
      assert.deepEqual(ids(one.list()), all);
      assert.deepEqual(ids(other.list()), all);
    },
  );

  check('a registry can be closed twice', ({ handles }) => {
    for (let times = 0; times < 2; times++) handles.close();
  });

  checkKept('a corrupt registry is reported', async ({ handles, open, here }) => {
    if (!here.damage) return;
    for (let n = 0; n < 50; n++) handles.save({ ...everything, id: `h${n}` });
    handles.close();
    await here.damage();
    assert.throws(
      () => open().list(),
      (error) =>
        error instanceof HoldfastError &&
        /corrupt|damaged|not a SQLite database|not readable/.test(error.message),
    );
  });
}

function ids(records: readonly CallRecord[]): string[] {
  return records.map(({ id }) => id);
}
