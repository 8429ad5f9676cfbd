/** Whether a host that was killed again and again lost, repeated or asked anything twice. */
import type { CallRecord } from 'holdfast/client';
import { tools } from './host.ts';
import type { Line, Written } from './lines.ts';

export interface Case {
  readonly way: string;
  readonly kills: number;
  readonly lines: readonly Written[];
  readonly records: readonly CallRecord[];
}

function ofType<T extends Line['type']>(lines: readonly Written[], type: T) {
  return lines.filter((line): line is Written & { readonly type: T } => line.type === type);
}

export function problemsOf({ lines, records }: Case): string[] {
  return [...deliveries(lines, records), ...questions(lines)];
}

function deliveries(lines: readonly Written[], records: readonly CallRecord[]): string[] {
  const delivered = ofType(lines, 'delivered');
  const known = new Set(records.map(({ id }) => id));
  return [
    ...ofType(lines, 'failed').map(({ handle, why }) => `${handle} ended with ${why}`),
    ...ofType(lines, 'called').flatMap(({ handle }) => (known.has(handle) ? [] : [`${handle} is gone`])),
    ...records.flatMap(({ id, params, isDelivered }) => {
      const [first, ...more] = delivered.filter(({ handle }) => handle === id);
      if (!first) return [`${id} was never delivered`];
      if (more.length > 0) return [`${id} was delivered ${more.length + 1} times`];
      if (!isDelivered) return [`${id} was delivered, and the registry does not say so`];
      const { says } = tools.find(({ name }) => name === params.name)!;
      return first.text === says ? [] : [`${id} (${params.name}) said ${first.text}`];
    }),
  ];
}

function questions(lines: readonly Written[]): string[] {
  const recorded = new Set<string>();
  const askedIn = new Map<string, number>();
  const problems: string[] = [];
  for (const line of lines) {
    if (line.type === 'recorded') recorded.add(line.question);
    if (line.type !== 'asked') continue;
    if (recorded.has(line.question)) problems.push(`${line.question} was asked after it was answered`);
    if (askedIn.get(line.question) === line.life)
      problems.push(`${line.question} was asked twice in life ${line.life}`);
    askedIn.set(line.question, line.life);
  }
  // A host may be killed after it recorded an answer and before it could say so.
  const recording = new Set(ofType(lines, 'recording').map(({ question }) => question));
  for (const question of askedIn.keys())
    if (!recording.has(question)) problems.push(`the answer to ${question} was never recorded`);
  return problems;
}

export function reportOf({ way, kills, lines, records }: Case) {
  const asked = ofType(lines, 'asked').map(({ question }) => question);
  return {
    way,
    kills,
    calls: records.length,
    delivered: new Set(ofType(lines, 'delivered').map(({ handle }) => handle)).size,
    questions: new Set(asked).size,
  };
}
