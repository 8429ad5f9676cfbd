/** The observer that makes traces and metrics of what it sees, through the API of OpenTelemetry. */
import { hash } from 'node:crypto';
import { type MeterProvider, metrics, type TracerProvider, trace } from '@opentelemetry/api';
import type { Owner, TaskId } from '../model/task.ts';
import type { Observer } from '../ports/observer.ts';
import { Metrics } from './metrics.ts';
import { Traces } from './traces.ts';

export interface TelemetryOptions {
  /** How owners stand in spans: as the beginning of a SHA-256 (the default), as they are, or not at all. */
  readonly owner?: 'hashed' | 'plain' | 'none';
  /** By default the one that is registered with the API, if any. */
  readonly tracerProvider?: TracerProvider;
  readonly meterProvider?: MeterProvider;
}

/** Counts what happens anyway. */
export type Telemetry = Observer & Required<Pick<Observer, 'metrics'>>;

const name = 'holdfast';

const ownerShown: Record<NonNullable<TelemetryOptions['owner']>, (owner: Owner) => string | undefined> = {
  hashed: (owner) => hash('sha256', owner).slice(0, 16),
  plain: (owner) => owner,
  none: () => undefined,
};

/**
 * Traces and metrics for `createTasks({ telemetry: telemetry() })`. They go where the program's own SDK of
 * OpenTelemetry sends them; without an SDK nothing leaves the process, and the metrics are there for Prometheus alone.
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  const { owner = 'hashed', tracerProvider, meterProvider } = options;
  const tracer = tracerProvider ? tracerProvider.getTracer(name) : trace.getTracer(name);
  const traces = new Traces(tracer, ownerShown[owner]);
  const counted = new Metrics(() => (meterProvider ?? metrics).getMeter(name));
  const { counts } = counted;
  /** Taken over from a worker that was gone, and not yet begun. */
  const recovered = new Set<TaskId>();

  return {
    opened: (database, tools) => counted.opened(database, tools),
    origin: (origin, tool) => traces.origin(origin, tool),
    committed({ writes }) {
      for (const write of writes)
        for (const event of write.events) {
          if ('takenFrom' in event && event.takenFrom !== undefined) recovered.add(write.task.id);
          else if (event.type === 'finished') recovered.delete(write.task.id);
          counted.happened(event, write);
          traces.happened(event, write, writes);
        }
    },
    passBegan(task) {
      const outer = counted.passBegan(task);
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
    corrupt: () => counts.damaged.add({}),
    metrics: () => counted.text(),
  };
}
