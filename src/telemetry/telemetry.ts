/** An observer that creates traces and metrics through the OpenTelemetry API. */
import { hash } from 'node:crypto';
import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api';
import type { Owner, TaskId } from '../model/task.ts';
import type { Observer } from '../ports/observer.ts';
import { Metrics } from './metrics.ts';
import { Traces } from './traces.ts';

export interface TelemetryOptions {
  /** How spans show owners: the first 16 hex digits of a SHA-256 hash (the default), plain text, or not at all. */
  readonly owner?: 'hashed' | 'plain' | 'none';
  /** Creates the spans. The default is the provider that is registered with the OpenTelemetry API, if there is one. */
  readonly tracerProvider?: TracerProvider;
  /** Receives the metrics. The default is the registered one, too. */
  readonly meterProvider?: MeterProvider;
}

/** An observer that always has `metrics`. */
export type Telemetry = Observer & Required<Pick<Observer, 'metrics'>>;

/** The name of the tracer and of the meter. */
const name = 'holdfast';

const ownerFormats: Record<NonNullable<TelemetryOptions['owner']>, (owner: Owner) => string | undefined> = {
  hashed: (owner) => hash('sha256', owner).slice(0, 16),
  plain: (owner) => owner,
  none: () => undefined,
};

/**
 * Traces and metrics for `createTasks({ telemetry: telemetry() })`. The program's own OpenTelemetry SDK exports them.
 * Without an SDK nothing leaves the process, and only Prometheus can read the metrics.
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  const { owner = 'hashed', tracerProvider, meterProvider } = options;
  const tracer = tracerProvider ? tracerProvider.getTracer(name) : trace.getTracer(name);
  const traces = new Traces(tracer, ownerFormats[owner]);
  const counters = new Metrics(() => (meterProvider ?? metrics).getMeter(name));
  const { counts } = counters;
  /** Tasks that lost their worker and have not begun another pass. The span of that pass is marked as recovered. */
  const recovered = new Set<TaskId>();

  return {
    opened: (database, tools) => counters.opened(database, tools),
    origin: (origin, tool) => traces.origin(origin, tool),
    committed({ writes }) {
      for (const write of writes)
        for (const event of write.events) {
          if ('takenFrom' in event && event.takenFrom !== undefined) recovered.add(write.task.id);
          else if (event.type === 'finished') recovered.delete(write.task.id);
          counters.happened(event, write);
          traces.happened(event, write, writes);
        }
    },
    passBegan(task) {
      const outer = counters.passBegan(task);
      const inner = traces.passBegan(task, recovered.delete(task.id));
      if (!inner) return outer;
      return {
        handler: (run) => inner.handler(run),
        attempt: (call, run) => outer.attempt(call, () => inner.attempt(call, run)),
        ended(how, at) {
          outer.ended(how, at);
          inner.ended(how, at);
        },
      };
    },
    polled: () => counts.polls.add({}),
    refused: (limit) => counts.refused.add({ limit }),
    suspicious: ({ pattern }) => counts.suspicious.add({ pattern }),
    overfull() {},
    warned: ({ code }) => counts.warnings.add({ code }),
    storeFailed: ({ error }) => counts.storeFailures.add({ trouble: error.trouble }),
    storeRecovered() {},
    corrupt: () => counts.corrupt.add({}),
    metrics: () => counters.text(),
  };
}
