/** How tasks are drawn: layout, truncation, and the parts that are always shown. */
import { describe, expect, test } from 'vitest';
import { shortIds } from '../../../src/cli/calls/registry.ts';
import { drawLive, drawTask } from '../../../src/cli/operator/draw-task.ts';
import { asciiOnly, supportsUtf8 } from '../../../src/cli/operator/drawing-style.ts';
import { drawList } from '../../../src/cli/operator/list.ts';
import { Axis, waterfall } from '../../../src/cli/operator/waterfall.ts';
import { took } from '../../../src/cli/time.ts';
import { paintWith, width } from '../../../src/cli/views/terminal-text.ts';
import { ago, idOf, killed, now, pass, several, step, story, summary } from './stories.ts';

const style = { columns: 80, now, paint: paintWith(false), isFull: false, source: '--store sqlite:tasks.db' };

describe('the axis of time', () => {
  test('is straight where work takes most of the time', () => {
    const axis = new Axis({ from: 0, to: 100 }, [{ from: 0, to: 60 }], 10);
    expect([0, 10, 55, 99, 100].map((at) => axis.columnOf(at))).toEqual([0, 1, 5, 9, 9]);
    expect(axis.drawn()).toBe('├────────┤');
  });

  test('shortens idle time until it takes no more room than the work', () => {
    const axis = new Axis(
      { from: 0, to: 1_000_000 },
      [
        { from: 0, to: 10 },
        { from: 999_990, to: 1_000_000 },
      ],
      20,
    );
    expect([0, 9, 10, 999_989, 999_990, 999_999].map((at) => axis.columnOf(at))).toEqual([
      0, 4, 5, 14, 15, 19,
    ]);
    expect(axis.drawn()).toBe('├────⋯⋯⋯⋯⋯⋯⋯⋯⋯⋯────┤');
  });

  test('has a column for every time, also outside its range', () => {
    const axis = new Axis({ from: 10, to: 10 }, [], 5);
    expect([0, 10, 99].map((at) => axis.columnOf(at))).toEqual([0, 0, 4]);
  });
});

describe('a waterfall', () => {
  const long = (calls: number) =>
    story({
      passes: [
        pass({ number: 1, to: ago(190), end: 'crashed' }),
        pass({ number: 2, from: ago(189), to: null, end: 'running', replayed: 1 }),
      ],
      calls: [
        step('first', 199, 195),
        ...Array.from({ length: calls }, (_, i) =>
          step(`step ${i}`, 180 - i / 100, 180 - (i + 1) / 100, { pass: 2 }),
        ),
        step('last', 10, null, { pass: 2 }),
      ],
    });

  test('of a long history keeps the crash, the resumption, open calls and new calls', () => {
    const lines = waterfall(long(1_000), style, 20);
    expect(lines.length).toBeLessThanOrEqual(20);
    const text = lines.join('\n');
    expect(text).toMatch(/✗ process died; taken over 1\.0 s later/);
    expect(text).toMatch(/↻ resumed, 1 step not repeated/);
    expect(text).toMatch(/^ {2}last .*▸/m);
    expect(text).toMatch(/step 999/);
    expect(text).toMatch(/… 9\d\d more/);
  });

  test('omits nothing with isFull', () => {
    expect(waterfall(long(1_000), { ...style, isFull: true })).toHaveLength(1 + 2 + 2 + 1_002);
  });

  test('combines many passes that found nothing new into one line', () => {
    const passes = Array.from({ length: 30 }, (_, i) =>
      pass({ number: i + 1, from: ago(200 - 5 * i), to: ago(199 - 5 * i) }),
    );
    const lines = waterfall(
      story({ passes, calls: [step('until ready', 199, null, { kind: 'until' })] }),
      style,
    );
    expect(lines.map((line) => line.trimEnd().split(/ {2,}/)[0])).toEqual([
      'timeline',
      'pass 1',
      '',
      'passes 2 to 30',
      '',
    ]);
  });

  test('shows the failed attempts of a step and the time of the retry', () => {
    const attempts = [1, 2, 3, 4, 5].map((n) => ({
      at: ago(50 - n),
      message: `no. ${n}`,
      retryAt: ago(49 - n),
    }));
    const last = { at: ago(1), message: 'no. 6', retryAt: now + 4_000 };
    const text = waterfall(
      story({
        passes: [pass({ to: null, end: 'running' })],
        calls: [step('dial', 60, null, { attempts: [...attempts, last] })],
      }),
      style,
    ).join('\n');
    expect(text).toMatch(/3 earlier attempts failed\n/);
    expect(text).toMatch(/✖ attempt 6: no\. 6; retry in 4\.0 s/);
  });

  test('has a row for a task that has not started', () => {
    expect(waterfall(story({ task: summary({ status: 'queued' }) }), style).join('\n')).toMatch(
      /^queued .*░▸/m,
    );
  });
});

test.for([20, 33, 40, 59, 60, 80, 200])('no line is wider than %i columns', (columns) => {
  const narrow = { ...style, columns };
  const lines = [
    ...drawList(several, narrow),
    ...drawTask(killed, narrow).filter((line) => !line.includes('answer with:')),
  ];
  for (const line of lines) expect(width(line), line).toBeLessThan(columns);
});

test('the command to answer is quoted for the shell', () => {
  const schema = { type: 'object', properties: { "skipper's name": { type: 'string' } } } as const;
  const question = { key: 'name; date', request: { kind: 'form', message: 'Who?', schema } } as const;
  const asks = story({ questions: [{ ...question, state: 'open', askedAt: now }] as never });
  const [line] = drawTask(asks, style).filter((one) => one.includes('answer with:'));
  const words = `'name; date' '{"skipper'\\''s name": …}' --store sqlite:tasks.db`;
  expect(line).toContain(`holdfast tasks answer ${asks.task.id} ${words}`);
});

test('subtasks are listed with full ids, those that wait for an answer first', () => {
  const child = (n: number, some: object) => summary({ id: idOf(`sub${'abcdefghijklmnop'[n]}`), ...some });
  const children = [
    ...Array.from({ length: 15 }, (_, n) => child(n, { status: 'completed', finishedAt: now })),
    child(15, { status: 'waiting', openQuestions: 1 }),
  ];
  const parent = story({ task: summary({ childCount: 16 }), children });
  const lines = drawTask(parent, style);
  expect(lines[lines.indexOf('subtasks') + 1]).toBe(`  ? ${idOf('subp')}  publish_report  1 question`);
  expect(lines.at(-1)).toBe('  … 4 more; show them with --full');
  expect(drawTask(parent, { ...style, isFull: true }).at(-1)).toContain(idOf('subp'));
});

test('a subtask shows its ancestors', () => {
  const task = summary({ parentId: idOf('parent'), rootId: idOf('root') });
  const lines = drawTask(
    story({
      task,
      ancestors: [
        { id: idOf('root'), tool: 'plan' },
        { id: idOf('parent'), tool: 'do' },
      ],
    }),
    style,
  );
  expect(lines).toContain(`path       plan rootkkkk → do parentkk`);
  expect(lines).toContain(`parent     ${idOf('parent')}`);
  expect(lines).toContain(`root       ${idOf('root')}`);
});

test.for([3, 8, 24])('a live task fits into %i rows', (rows) => {
  expect(drawLive(killed, style, rows).length).toBeLessThanOrEqual(rows);
});

test('a plain call is marked as one, in a list and by itself', () => {
  const task = summary({ plainCall: true });
  expect(drawList([task], style).join('\n')).toContain('plain call');
  expect(drawTask(story({ task }), style).join('\n')).toContain('a plain call of tools/call');
});

test('control characters in a task are not printed', () => {
  const nasty = '\x1b[2Jgone\r\nand\u202eback';
  const text = [
    ...drawTask(
      story({
        task: summary({ tool: nasty, owner: nasty, statusMessage: nasty, blocked: nasty }),
        arguments: { [nasty]: nasty },
        origin: { dialect: nasty, method: nasty },
        passes: [pass({ worker: nasty })],
        calls: [step(nasty, 100, 50, { error: nasty, state: 'failed' })],
        questions: [
          {
            key: nasty,
            request: { kind: 'form', message: nasty, schema: {} },
            state: 'answered',
            askedAt: now,
            response: { action: nasty, content: nasty },
          },
        ],
        outcome: { kind: 'failure', message: nasty },
      }),
      { ...style, isFull: true },
    ),
    ...drawList([summary({ tool: nasty, owner: nasty, problem: nasty })], style),
  ].join('\n');
  expect(text).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
});

test('ids are shortened to unique prefixes of at least eight letters', () => {
  const short = shortIds(['abcdefghijk', 'abcdefghijx', 'other'].map((name) => ({ id: idOf(name) })));
  expect(short(idOf('abcdefghijk'))).toBe('abcdefghijk');
  expect(short(idOf('abcdefghijx'))).toBe('abcdefghijx');
  expect(short(idOf('other'))).toBe('otherkkk');
  expect(short('a stranger')).toBe('a stranger');
});

test('conversion to ASCII keeps the width', () => {
  for (const line of drawTask(killed, style)) {
    expect(asciiOnly(line)).toMatch(/^[\x20-\x7e]*$/);
    expect(asciiOnly(line)).toHaveLength(width(line));
  }
  expect(asciiOnly('海藻 é e\u0301 ✔')).toBe('???? ? ? +');
});

test.for([
  [{ LC_ALL: 'C', LANG: 'de_DE.UTF-8' }, false],
  [{ LC_ALL: '', LANG: 'de_DE.UTF-8' }, true],
  [{ LC_CTYPE: 'C.utf8' }, true],
  [{ LANG: 'de_DE.ISO-8859-1' }, false],
  [{}, true],
] as const)('the locale %o supports UTF-8: %s', ([env, expected]) => {
  expect(supportsUtf8(env)).toBe(expected);
});

test('durations are formatted for people', () => {
  expect([0, 40, 1_250, 48_000, 200_000, 7_500_000, 273_600_000].map(took)).toEqual([
    '0 ms',
    '40 ms',
    '1.2 s',
    '48 s',
    '3:20',
    '2:05:00',
    '3 d 4 h',
  ]);
});
