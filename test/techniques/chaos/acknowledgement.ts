/** What a child process says on its standard output, one line each, and only after the promise has resolved. */
import type { InputResponse, Json, Outcome, Task, TaskEvent, TaskId } from '../../../src/index.ts';
import type { Change } from '../../../src/store.ts';
import { say as print } from '../../kit/child.ts';

/** One task's share of an acknowledged commit, with all that can be looked up again later. */
export interface AcknowledgedWrite {
  readonly id: TaskId;
  readonly version: number;
  readonly events: readonly TaskEvent[];
  readonly journal?: readonly Json[];
  readonly responses: Readonly<Record<string, InputResponse>>;
  readonly outcome?: Outcome;
}

export type Line =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'committed';
      readonly writes: readonly AcknowledgedWrite[];
      readonly removed: readonly TaskId[];
    }
  /** The idempotency key stands for this task. */
  | { readonly kind: 'keyed'; readonly key: string; readonly id: TaskId }
  /** A reader was shown the task in this version. */
  | { readonly kind: 'read'; readonly id: TaskId; readonly version: number; readonly outcome?: Outcome }
  | { readonly kind: 'refused'; readonly name: string }
  | { readonly kind: 'failed'; readonly error: string };

export const say: (line: Line) => void = print;

export function committed({ writes, removed }: Change): Line {
  return {
    kind: 'committed',
    writes: writes.map(({ task, events, journal }) => ({
      id: task.id,
      version: task.version,
      events,
      responses: responsesTo(task, events),
      ...(journal && { journal }),
      ...(task.phase === 'done' && { outcome: task.outcome }),
    })),
    removed,
  };
}

function responsesTo({ inputs }: Task, events: readonly TaskEvent[]): Record<string, InputResponse> {
  const keys = events.flatMap((event) => (event.type === 'answered' ? [event.key] : []));
  const answered = inputs.flatMap((input) =>
    input.state === 'answered' && keys.includes(input.key) ? [[input.key, input.response] as const] : [],
  );
  return Object.fromEntries(answered);
}
