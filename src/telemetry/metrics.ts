/** Metrics: counters and histograms of what this process does, and gauges that read the queue on demand. */
import type { Histogram, Meter } from '@opentelemetry/api';
import type { TaskEvent } from '../model/event.ts';
import { outcomeWord } from '../model/outcome.ts';
import type { Task } from '../model/task.ts';
import type { TaskWrite } from '../ports/change.ts';
import type { ObservedCall, ObservedPass } from '../ports/observer.ts';
import type { Database, ToolVersion } from '../ports/queue.ts';
import { runtime } from '../runtime/runtime.ts';

/** The gauges count at most this many tasks per database. */
const maxBacklog = 10_000;
/** Upper bounds of histogram buckets, in seconds: for steps and delays, and for whole tasks. */
const quick = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const slow = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];

const gauges = {
  ready: { name: 'holdfast.tasks.ready', help: 'Tasks that are ready and wait for a worker.' },
  oldest: {
    name: 'holdfast.tasks.oldest_ready.seconds',
    help: 'How long the oldest ready task has been waiting.',
  },
  waiting: { name: 'holdfast.tasks.waiting', help: 'Tasks with an open question.' },
  running: { name: 'holdfast.tasks.running', help: 'Tasks that this process is running.' },
} as const;
const gaugeKeys = Object.keys(gauges) as (keyof typeof gauges)[];

/**
 * Events that each increment one counter, by the key of the counter. A task has `rested` if its worker was lost before
 * it recorded anything, which counts as a recovery.
 */
const countedEvents = {
  created: 'created',
  rested: 'recoveries',
  asked: 'asked',
  answered: 'answered',
  stuck: 'stuck',
} as const satisfies Partial<Record<TaskEvent['type'], keyof Metrics['counts']>>;

export class Metrics {
  readonly counts = {
    created: count('holdfast.tasks.created', 'Tasks created by this process, including subtasks.'),
    finished: count('holdfast.tasks.finished', 'Tasks finished by this process, by outcome.'),
    passes: count('holdfast.passes', 'Passes of handlers, by how they ended.'),
    recoveries: count('holdfast.recoveries', 'Tasks taken over from a worker that was lost.'),
    retries: count('holdfast.retries', 'Attempts at steps after a failed attempt.'),
    stuck: count('holdfast.stuck', 'Times that a task was blocked because its handler has changed.'),
    asked: count('holdfast.questions.asked', 'Questions to callers.'),
    answered: count('holdfast.questions.answered', 'Answered questions.'),
    cancelled: count('holdfast.cancels', 'Cancelled tasks.'),
    polls: count('holdfast.polls', 'Polls of tasks by callers.'),
    refused: count('holdfast.refusals', 'Requests that exceeded a limit, by limit.'),
    suspicious: count('holdfast.suspicious', 'Minutes in which a caller behaved suspiciously, by pattern.'),
    warnings: count('holdfast.warnings', 'Problems of workers, by code.'),
    storeFailures: count('holdfast.store.failures', 'Failed operations of the store, by cause.'),
    corrupt: count('holdfast.tasks.corrupt', 'Times that the record of a task could not be read.'),
  };
  readonly #durations = {
    tasks: durations('holdfast.task.duration', 'Time from the call to the outcome.', slow),
    delays: durations('holdfast.task.delay', 'Time from the call to the first pass.', quick),
    steps: durations('holdfast.step.duration', 'Time of each attempt at a step.', quick),
  };
  readonly #databases = new Map<Database, readonly ToolVersion[]>();
  readonly #meter: () => Meter;
  #isRegistered = false;
  #running = 0;

  /** `meter` is called when the first database opens, so that a program can set up its SDK before that. */
  constructor(meter: () => Meter) {
    this.#meter = meter;
  }

  /** Includes a database in the gauges. Returns a function that removes it. */
  opened(database: Database, tools: readonly ToolVersion[]): () => void {
    if (!this.#isRegistered) this.#register(this.#meter());
    this.#isRegistered = true;
    this.#databases.set(database, tools);
    return () => this.#databases.delete(database);
  }

  /** Counts one event of a committed write of this process. */
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
      this.#durations.tasks.add(task.finishedAt - task.createdAt, { tool, outcome });
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

  /** All metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    const values = await this.#readGauges();
    const lines = [
      ...Object.values(this.counts).flatMap(countLines),
      ...Object.values(this.#durations).flatMap(durationLines),
      ...gaugeKeys.flatMap((key) => gaugeLines(gauges[key], values[key])),
    ];
    return `${lines.join('\n')}\n`;
  }

  /** Measures one attempt. Attempts after the first count as retries. */
  async #attempt({ attempt }: ObservedCall, labels: Labels, run: () => unknown): Promise<unknown> {
    if (attempt > 1) this.counts.retries.add(labels);
    const from = runtime.monotonic();
    try {
      return await run();
    } finally {
      this.#durations.steps.add(runtime.monotonic() - from, labels);
    }
  }

  /** Reads the current values. Databases that cannot be read now are skipped. */
  async #readGauges(): Promise<Record<keyof typeof gauges, number>> {
    const reads = [...this.#databases].map(([database, tools]) =>
      database.queue.backlog(tools, maxBacklog).catch(() => undefined),
    );
    const backlogs = (await Promise.all(reads)).filter((one) => one !== undefined);
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

  /** Registers all metrics with the OpenTelemetry API. */
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
      const values = await this.#readGauges();
      for (const [n, key] of gaugeKeys.entries()) result.observe(observables[n]!, values[key]);
    }, observables);
  }
}

// --- Counters and histograms --------------------------------------------------------------------------------

type Labels = Readonly<Record<string, string>>;

/** A counter with one value for each set of labels. */
function count(name: string, help: string) {
  const values = new Map<string, { readonly labels: Labels; value: number }>();
  const add = (labels: Labels) => valueUnder(values, labels, () => ({ labels, value: 0 })).value++;
  return { name, help, values, add };
}

/** A histogram of durations with one set of buckets for each set of labels. `bounds` are in seconds, `add` takes ms. */
function durations(name: string, help: string, bounds: readonly number[]) {
  const empty = (labels: Labels) => ({ labels, buckets: bounds.map(() => 0), sum: 0, count: 0 });
  const values = new Map<string, ReturnType<typeof empty>>();
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
      const found = valueUnder(values, labels, () => empty(labels));
      const bucket = bounds.findIndex((bound) => seconds <= bound);
      if (bucket >= 0) found.buckets[bucket]!++;
      found.sum += seconds;
      found.count++;
      histogram?.record(seconds, labels);
    },
  };
}

/** The value for these labels, created on first use. All labels of one metric must have the same names in one order. */
function valueUnder<T>(values: Map<string, T>, labels: Labels, create: () => T): T {
  const key = Object.values(labels).join('\n');
  const found = values.get(key) ?? create();
  values.set(key, found);
  return found;
}

// --- The text format of Prometheus, version 0.0.4 -----------------------------------------------------------

function countLines({ name, help, values }: ReturnType<typeof count>): string[] {
  const metric = `${underscored(name)}_total`;
  const rows = [...values.values()].map(({ labels, value }) => line(metric, labels, value));
  // A counter without values is reported as 0, so that it differs from a metric that does not exist.
  return [...header(metric, help, 'counter'), ...(rows.length > 0 ? rows : [line(metric, {}, 0)])];
}

function durationLines({ name, help, bounds, values }: ReturnType<typeof durations>): string[] {
  const metric = `${underscored(name)}_seconds`;
  // Buckets are counted separately here; in the text format each one includes all smaller ones.
  const rows = [...values.values()].flatMap(({ labels, buckets, sum, count }) => {
    let below = 0;
    const counted = bounds.map((bound, n) => {
      below += buckets[n]!;
      return line(`${metric}_bucket`, { ...labels, le: String(bound) }, below);
    });
    return [
      ...counted,
      line(`${metric}_bucket`, { ...labels, le: '+Inf' }, count),
      line(`${metric}_sum`, labels, sum),
      line(`${metric}_count`, labels, count),
    ];
  });
  return [...header(metric, help, 'histogram'), ...rows];
}

function gaugeLines({ name, help }: (typeof gauges)[keyof typeof gauges], value: number): string[] {
  const metric = underscored(name);
  return [...header(metric, help, 'gauge'), line(metric, {}, value)];
}

function header(metric: string, help: string, type: string): string[] {
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
