/** What is counted, kept here whoever reads it: an SDK of OpenTelemetry, Prometheus, or nobody. */

export type Labels = Readonly<Record<string, string>>;

export interface Described {
  /** As OpenTelemetry has it: `holdfast.tasks.created`. */
  readonly name: string;
  readonly help: string;
}

/** A number that only grows, for each set of labels. */
export class Count {
  readonly name: string;
  readonly help: string;
  readonly #values = new Map<string, { readonly labels: Labels; value: number }>();

  constructor({ name, help }: Described) {
    this.name = name;
    this.help = help;
  }

  add(labels: Labels): void {
    const key = keyOf(labels);
    const found = this.#values.get(key);
    if (found) found.value++;
    else this.#values.set(key, { labels, value: 1 });
  }

  get values(): Iterable<{ readonly labels: Labels; readonly value: number }> {
    return this.#values.values();
  }
}

interface Distribution {
  readonly labels: Labels;
  readonly buckets: number[];
  sum: number;
  count: number;
}

/** How long things take, in seconds. */
export class Durations {
  readonly name: string;
  readonly help: string;
  readonly bounds: readonly number[];
  readonly #values = new Map<string, Distribution>();

  constructor({ name, help, bounds }: Described & { readonly bounds: readonly number[] }) {
    this.name = name;
    this.help = help;
    this.bounds = bounds;
  }

  add(seconds: number, labels: Labels): void {
    const key = keyOf(labels);
    let found = this.#values.get(key);
    if (!found) {
      found = { labels, buckets: this.bounds.map(() => 0), sum: 0, count: 0 };
      this.#values.set(key, found);
    }
    const place = this.bounds.findIndex((bound) => seconds <= bound);
    if (place >= 0) found.buckets[place]!++;
    found.sum += seconds;
    found.count++;
  }

  get values(): Iterable<Readonly<Distribution>> {
    return this.#values.values();
  }
}

/** How something stands at this moment. */
export interface Gauge extends Described {
  readonly value: number;
}

function keyOf(labels: Labels): string {
  return Object.values(labels).join('\n');
}
