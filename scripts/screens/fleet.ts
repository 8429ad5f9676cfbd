/** Example data: two hours of tasks in a busy harbour office, with their overview. The same in every run. */
import type { TaskStatus } from '../../src/model/status.ts';
import type { TaskSummary } from '../../src/operator/api.ts';
import { present, summary } from '../../test/dashboard/browser/examples.ts';
import type { World } from './world.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Pseudo-random numbers from 0 to 1. */
function scattered(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const owners = ['ann@example.com', 'bo@example.com', 'harbour-office', 'press@example.com'];
const seconds = {
  publish_report: 190,
  summarise_pages: 24,
  transcribe_audio: 340,
  translate_book: 2_600,
  nightly_backup: 810,
  pay_invoice: 6,
  print_report: 75,
};
const tools = Object.keys(seconds) as (keyof typeof seconds)[];

const problems: Readonly<Record<keyof typeof seconds, string>> = {
  publish_report: 'HTTP 409: a report of this name exists already',
  summarise_pages: 'HTTP 503: the tide office is closed',
  transcribe_audio: 'connect ETIMEDOUT 203.0.113.7:443',
  translate_book: 'The dictionary has no entry for “Watt”.',
  nightly_backup: 'The disk of vault-2 is full: 0 bytes are free',
  pay_invoice: 'pay: the bank answered 402: the limit is used up',
  print_report: 'The printer is out of paper.',
};

/** The newest tasks; the older ones are finished. */
const newest: readonly (Partial<TaskSummary> & { tool: keyof typeof seconds; status: TaskStatus })[] = [
  { tool: 'summarise_pages', status: 'queued' },
  { tool: 'transcribe_audio', status: 'queued' },
  {
    tool: 'publish_report',
    status: 'running',
    statusMessage: 'Drafting chapter 3 of 4',
    progress: { done: 3, total: 4 },
  },
  { tool: 'pay_invoice', status: 'completed' },
  {
    tool: 'print_report',
    status: 'waiting',
    statusMessage: 'How should “Tides of the North Sea” be printed?',
    openQuestions: 1,
  },
  {
    tool: 'transcribe_audio',
    status: 'running',
    statusMessage: 'Minute 41 of 96',
    progress: { done: 41, total: 96 },
  },
  { tool: 'pay_invoice', status: 'failed', problem: 'pay: the bank answered 402: the limit is used up' },
  { tool: 'summarise_pages', status: 'completed', childCount: 6 },
  {
    tool: 'translate_book',
    status: 'running',
    statusMessage: 'Chapter 12',
    progress: { done: 12, total: 31 },
  },
  { tool: 'print_report', status: 'cancelled' },
  {
    tool: 'publish_report',
    status: 'waiting',
    statusMessage: 'Publish “Harbours of Jutland”?',
    openQuestions: 1,
  },
  {
    tool: 'nightly_backup',
    status: 'running',
    blocked: 'No worker knows version 4 of nightly_backup.',
  },
  { tool: 'transcribe_audio', status: 'lost', problem: 'The upstream does not know the call any more.' },
  { tool: 'publish_report', status: 'completed', childCount: 3 },
  {
    tool: 'pay_invoice',
    status: 'waiting',
    statusMessage: 'The bank wants you to sign in.',
    openQuestions: 1,
  },
  { tool: 'translate_book', status: 'failed', problem: 'chapter 7: the dictionary is missing (ENOENT)' },
];

function fleet(): readonly TaskSummary[] {
  const next = scattered(7);
  let createdAt = present - 4 * second;
  return Array.from({ length: 64 }, (_, index) => {
    const given = newest[index];
    const tool = given?.tool ?? tools[Math.floor(next() * tools.length)]!;
    const chance = next();
    const status = given?.status ?? (chance < 0.08 ? 'failed' : chance < 0.12 ? 'cancelled' : 'completed');
    const isLive = status === 'queued' || status === 'running' || status === 'waiting';
    createdAt -= Math.round((10 + next() * 150) * second);
    const age = present - createdAt;
    const took = Math.min(Math.round(seconds[tool] * (0.5 + next()) * second), Math.round(age * next()));
    const id = `${(1_000 + index * 37).toString(36)}${(present + index * 7_919).toString(36)}`;
    const end = createdAt + took;
    return summary({
      id,
      tool,
      status,
      owner: owners[Math.floor(next() * owners.length)]!,
      createdAt,
      updatedAt: isLive ? present - Math.round(next() * 9 * second) : end,
      passes: status === 'queued' ? 0 : 1,
      ...(!isLive && { finishedAt: end }),
      ...(status === 'failed' && { problem: problems[tool] }),
      ...given,
    });
  });
}

const bucketsPerWindow = 60;

function overview(tasks: readonly TaskSummary[]): World['overview'] {
  return (windowMs) => {
    const next = scattered(windowMs / minute);
    const scale = windowMs / hour;
    const buckets = Array.from({ length: bucketsPerWindow }, (_, index) => {
      const tide = 1 + Math.sin(index / 7) * 0.6;
      const completed = Math.round(scale * tide * (4 + next() * 5));
      const isStorm = index > 38 && index < 44;
      const failed = isStorm ? Math.round(scale * (1 + next() * 3)) : Math.round(scale * next() * 0.6);
      const medianMs = Math.round(second * (16 + 9 * tide + next() * 12 + (isStorm ? 40 : 0)));
      return {
        completed,
        failed,
        cancelled: Math.round(scale * next() * 0.55),
        lost: index === 41 ? 1 : 0,
        medianMs,
        p95Ms: Math.round(medianMs * (4 + next() * 9)),
      };
    });
    const total = (name: 'completed' | 'failed' | 'cancelled' | 'lost') =>
      buckets.reduce((sum, bucket) => sum + bucket[name], 0);
    const ended = {
      completed: total('completed'),
      failed: total('failed'),
      cancelled: total('cancelled'),
      lost: total('lost'),
      medianMs: 31_400,
      p95Ms: 262_000,
    };
    const live = (status: TaskStatus) => tasks.filter((task) => task.status === status).length;
    const shares = [0.34, 0.22, 0.17, 0.11, 0.08, 0.05, 0.03];
    const busiest = ['pay_invoice', 'summarise_pages', 'print_report', 'publish_report'] as const;
    const order = [...busiest, ...tools.filter((tool) => !busiest.some((one) => one === tool))];
    return {
      now: present,
      since: present - windowMs,
      until: present,
      live: { queued: live('queued'), running: live('running'), waiting: live('waiting') },
      readySince: present - 38 * second,
      ended,
      buckets,
      tools: order.map((tool, index) => {
        const of = (status: TaskStatus) =>
          tasks.filter((task) => task.tool === tool && task.status === status).length;
        return {
          tool,
          queued: of('queued'),
          running: of('running'),
          waiting: of('waiting'),
          completed: Math.round(ended.completed * shares[index]!),
          failed: Math.round(ended.failed * shares[index]!),
          cancelled: Math.round(ended.cancelled * shares[index]!),
          lost: tool === 'transcribe_audio' ? ended.lost : 0,
          medianMs: seconds[tool] * second,
          p95Ms: Math.round(seconds[tool] * second * 3.4),
        };
      }),
      waiting: tasks
        .filter(({ status }) => status === 'waiting')
        .toSorted(newestFirst)
        .slice(0, 5),
      failing: tasks
        .filter(({ status }) => status === 'failed' || status === 'lost')
        .toSorted(newestFirst)
        .slice(0, 5),
    };
  };
}

const newestFirst = (a: TaskSummary, b: TaskSummary) => b.updatedAt - a.updatedAt;

const tasks = fleet();
export const busy = { tasks, overview: overview(tasks) };

/** A server without tasks. */
export const idle: Pick<World, 'tasks' | 'overview'> = {
  tasks: [],
  overview: (windowMs) => {
    const none = { completed: 0, failed: 0, cancelled: 0, lost: 0, medianMs: null, p95Ms: null };
    return {
      now: present,
      since: present - windowMs,
      until: present,
      live: { queued: 0, running: 0, waiting: 0 },
      readySince: null,
      ended: none,
      buckets: Array.from({ length: bucketsPerWindow }, () => none),
      tools: [],
      waiting: [],
      failing: [],
    };
  },
};
