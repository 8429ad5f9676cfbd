/** Questions that are pushed: each is on at most one stream at a time, whichever process holds it. */
import { BeingDelivered } from '../model/errors.ts';
import type { Delivery, Entrusted, InputRecord, OpenInput } from '../model/input.ts';
import type { Task } from '../model/task.ts';
import { changed, unchanged, type Verdict } from './change.ts';
import { bumped } from './fenced.ts';

/** Takes a question onto a stream, or keeps it there. `deadProcess` names a carrier that is known to be gone. */
export function deliver(
  task: Task,
  key: string,
  delivery: Delivery,
  at: number,
  deadProcess?: string,
): Verdict {
  const open = openInput(task, key);
  if (!open) return unchanged(task);
  const { delivery: other } = open;
  const isOurs = other?.by === delivery.by && other.stream === delivery.stream;
  if (other && !isOurs && other.until > at && other.by !== deadProcess) return new BeingDelivered(key);
  return withDelivery(task, { ...open, delivery }, at, 'delivering');
}

/** The stream closed before the answer came: the question is free to be asked on another. */
export function undeliver(task: Task, key: string, by: string, stream: string, at: number): Verdict {
  const open = openInput(task, key);
  if (open?.delivery?.by !== by || open.delivery.stream !== stream) return unchanged(task);
  const { delivery: _, ...free } = open;
  return withDelivery(task, free, at, 'undelivered');
}

/** The client has made a task of the question, or does not know that task any more. */
export function entrust(task: Task, key: string, entrusted: Entrusted | undefined, at: number): Verdict {
  const open = openInput(task, key);
  if (!open) return unchanged(task);
  const { entrusted: _, ...rest } = open;
  return withDelivery(task, { ...rest, ...(entrusted && { entrusted }) }, at, 'delivering');
}

function openInput(task: Task, key: string): OpenInput | undefined {
  const input = (task.inputs as readonly InputRecord[]).find((one) => one.key === key);
  return input?.state === 'open' ? input : undefined;
}

function withDelivery(task: Task, input: OpenInput, at: number, type: 'delivering' | 'undelivered'): Verdict {
  const inputs = task.inputs.map((one) => (one.key === input.key ? input : one));
  return changed({ ...bumped(task), inputs } as Task, at, [{ type, key: input.key }]);
}
