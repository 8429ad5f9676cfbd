/** What this process did to tasks, counted; and how the queue stands, looked up when somebody asks. */
import type { Histogram, Meter } from '@opentelemetry/api';
import type { TaskEvent } from '../model/event.ts';
import { outcomeWord } from '../model/outcome.ts';
import type { Task } from '../model/task.ts';
import type { TaskWrite } from '../ports/change.ts';
import type { ObservedCall, ObservedPass } from '../ports/observer.ts';
import type { Database, ToolVersion } from '../ports/queue.ts';
import { runtime } from '../runtime/runtime.ts';

/** A queue that is longer than this is too long; how much too long need not be counted. */
const longestBacklog = 10_000;
const quick = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const slow = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];

const gauges = {
  ready: { name: 'holdfast.tasks.ready', help: 'Tasks that could run now and that no worker holds.' },
  oldest: {
    name: 'holdfast.tasks.oldest_ready.seconds',
    help: 'For how long the longest of them has been ready.',
  },
  waiting: { name: 'holdfast.tasks.waiting', help: 'Tasks with a question open.' },
  running: { name: 'holdfast.tasks.running', help: 'Tasks in the hands of this process.' },
} as const;
const gaugeKeys = Object.keys(gauges) as (keyof typeof gauges)[];

/** Events that are counted as they are. */
const countedEvents = {
  created: 'created',
  rested: 'recoveries',
  asked: 'asked',
  answered: 'answered',
  stuck: 'stuck',
} as const satisfies Partial<Record<TaskEvent['type'], keyof Metrics['counts']>>;

export class Metrics {
  readonly counts = {
    created: count('holdfast.tasks.created', 'Tasks made by this process, subtasks among them.'),
    finished: count('holdfast.tasks.finished', 'Tasks ended by this process, by outcome.'),
    passes: count('holdfast.passes', 'Passes of handlers, by how they ended.'),
    recoveries: count('holdfast.recoveries', 'Tasks taken over from a worker that was gone.'),
    retries: count('holdfast.retries', 'Attempts at steps after one that failed.'),
    stuck: count('holdfast.stuck', 'Times that a task was set aside: its handler has changed.'),
    asked: count('holdfast.questions.asked', 'Questions put to requestors.'),
    answered: count('holdfast.questions.answered', 'Questions that were answered.'),
    cancelled: count('holdfast.cancels', 'Tasks that were cancelled.'),
    polls: count('holdfast.polls', 'Looks of callers at their tasks.'),
    refused: count('holdfast.refusals', 'What callers asked for beyond a limit, by limit.'),
    suspicious: count(
      'holdfast.suspicious',
      'Minutes in which a caller did what honest ones do not, by pattern.',
    ),
    warnings: count('holdfast.warnings', 'Troubles of workers that operators should know of, by code.'),
    storeFailures: count(
      'holdfast.store.failures',
      'What the store could not do for this process, by what was wrong with it.',
    ),
    damaged: count('holdfast.tasks.damaged', 'Times that a damaged record of a task was met.'),
  };
  readonly #durations = {
    lives: durations('holdfast.task.duration', 'From the call to the outcome.', slow),
    delays: durations('holdfast.task.delay', 'From the call to the first pass.', quick),
    steps: durations('holdfast.step.duration', 'Attempts at steps.', quick),
  };
  readonly #watched = new Map<Database, readonly ToolVersion[]>();
  readonly #meter: () => Meter;
  #isRegistered = false;
  #running = 0;

  /** The meter is asked for when the first database opens: what is registered later than that would be missed. */
  constructor(meter: () => Meter) {
    this.#meter = meter;
  }

  opened(database: Database, tools: readonly ToolVersion[]): () => void {
    if (!this.#isRegistered) this.#register(this.#meter());
    this.#isRegistered = true;
    this.#watched.set(database, tools);
    return () => this.#watched.delete(database);
  }

  happened(event: TaskEvent, { task, at }: TaskWrite): void {
    const { tool } = task;
    if (event.type in countedEvents)
      this.counts[countedEvents[event.type as keyof typeof countedEvents]].add({ tool });
    else if (event.type === 'claimed') {
      if (event.takenFrom !== undefined) this.counts.recoveries.add({ tool });
      if (event.epoch === 1) this.#durations.delays.add(at - task.createdAt, { tool });
    } else if (event.type === 'finished' && task.phase === 'done') {
      const outcome = outcomeWord(task.outcome);
      this.counts.finished.add({ tool, outcome });
      if (outcome === 'cancelled') this.counts.cancelled.add({ tool });
      this.#durations.lives.add(task.finishedAt - task.createdAt, { tool, outcome });
    }
  }

  passBegan({ tool }: Task): ObservedPass {
    this.#running++;
    return {
      handler: (run) => run(),
      attempt: (call, run) => this.#attempt(call, { tool }, run),
      ended: (how) => {
        this.#running--;
        this.counts.passes.add({ tool, end: how });
      },
    };
  }

  async text(): Promise<string> {
    const standing = await this.#standing();
    const lines = [
      ...Object.values(this.counts).flatMap(ofCount),
      ...Object.values(this.#durations).flatMap(ofDurations),
      ...gaugeKeys.flatMap((key) => ofGauge(gauges[key], standing[key])),
    ];
    return `${lines.join('\n')}\n`;
  }

  async #attempt({ attempt }: ObservedCall, labels: Labels, run: () => unknown): Promise<unknown> {
    if (attempt > 1) this.counts.retries.add(labels);
    const from = runtime.monotonic();
    try {
      return await run();
    } finally {
      this.#durations.steps.add(runtime.monotonic() - from, labels);
    }
  }

  /** Databases that cannot be read now are left out. */
  async #standing(): Promise<Record<keyof typeof gauges, number>> {
    const looks = [...this.#watched].map(([database, tools]) =>
      database.queue.backlog(tools, longestBacklog).catch(() => undefined),
    );
    const backlogs = (await Promise.all(looks)).filter((one) => one !== undefined);
    const sum = (of: 'ready' | 'waiting') => backlogs.reduce((total, one) => total + one[of], 0);
    const since = backlogs.flatMap(({ readySince }) => readySince ?? []);
    const oldestMs = since.length > 0 ? runtime.now() - Math.min(...since) : 0;
    return {
      ready: sum('ready'),
      oldest: Math.max(0, oldestMs) / 1_000,
      waiting: sum('waiting'),
      running: this.#running,
    };
  }

  #register(meter: Meter): void {
    for (const one of Object.values(this.counts))
      meter.createObservableCounter(one.name, { description: one.help }).addCallback((result) => {
        for (const { labels, value } of one.values.values()) result.observe(value, labels);
      });
    for (const one of Object.values(this.#durations)) one.register(meter);
    const observables = gaugeKeys.map((key) =>
      meter.createObservableGauge(gauges[key].name, { description: gauges[key].help }),
    );
    meter.addBatchObservableCallback(async (result) => {
      const standing = await this.#standing();
      for (const [n, key] of gaugeKeys.entries()) result.observe(observables[n]!, standing[key]);
    }, observables);
  }
}

// --- What is counted, whoever reads it ----------------------------------------------------------------------

type Labels = Readonly<Record<string, string>>;

/** A number that only grows, for each set of labels. */
function count(name: string, help: string) {
  const values = new Map<string, { readonly labels: Labels; value: number }>();
  const add = (labels: Labels) => valueUnder(values, labels, () => ({ labels, value: 0 })).value++;
  return { name, help, values, add };
}

/** How long things take, in seconds. */
function durations(name: string, help: string, bounds: readonly number[]) {
  const nothing = (labels: Labels) => ({ labels, buckets: bounds.map(() => 0), sum: 0, count: 0 });
  const values = new Map<string, ReturnType<typeof nothing>>();
  let histogram: Histogram | undefined;
  return {
    name,
    help,
    bounds,
    values,
    register(meter: Meter): void {
      const advice = { explicitBucketBoundaries: [...bounds] };
      histogram = meter.createHistogram(name, { description: help, unit: 's', advice });
    },
    add(ms: number, labels: Labels): void {
      const seconds = Math.max(0, ms) / 1_000;
      const found = valueUnder(values, labels, () => nothing(labels));
      const place = bounds.findIndex((bound) => seconds <= bound);
      if (place >= 0) found.buckets[place]!++;
      found.sum += seconds;
      found.count++;
      histogram?.record(seconds, labels);
    },
  };
}

/** The value of these labels; the first time, a new one. */
function valueUnder<T>(values: Map<string, T>, labels: Labels, nothing: () => T): T {
  const key = Object.values(labels).join('\n');
  const found = values.get(key) ?? nothing();
  values.set(key, found);
  return found;
}

// --- The text format of Prometheus, version 0.0.4 -----------------------------------------------------------

function ofCount({ name, help, values }: ReturnType<typeof count>): string[] {
  const metric = `${underscored(name)}_total`;
  const rows = [...values.values()].map(({ labels, value }) => line(metric, labels, value));
  // What has not happened yet is told as well, or nobody could tell it from what is not counted.
  return [...opening(metric, help, 'counter'), ...(rows.length > 0 ? rows : [line(metric, {}, 0)])];
}

function ofDurations({ name, help, bounds, values }: ReturnType<typeof durations>): string[] {
  const metric = `${underscored(name)}_seconds`;
  const rows = [...values.values()].flatMap(({ labels, buckets, sum, count }) => {
    let below = 0;
    const counted = bounds.map((bound, place) => {
      below += buckets[place]!;
      return line(`${metric}_bucket`, { ...labels, le: String(bound) }, below);
    });
    return [
      ...counted,
      line(`${metric}_bucket`, { ...labels, le: '+Inf' }, count),
      line(`${metric}_sum`, labels, sum),
      line(`${metric}_count`, labels, count),
    ];
  });
  return [...opening(metric, help, 'histogram'), ...rows];
}

function ofGauge({ name, help }: (typeof gauges)[keyof typeof gauges], value: number): string[] {
  const metric = underscored(name);
  return [...opening(metric, help, 'gauge'), line(metric, {}, value)];
}

function opening(metric: string, help: string, type: string): string[] {
  return [`# HELP ${metric} ${help}`, `# TYPE ${metric} ${type}`];
}

function line(metric: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([name, text]) => `${name}="${escaped(text)}"`);
  return `${metric}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function underscored(name: string): string {
  return name.replaceAll('.', '_');
}
