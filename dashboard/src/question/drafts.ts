/** Answers that are typed but not sent. They survive new renderings and visits to other pages. */
import { type Signal, signal } from '@preact/signals';

const drafts = new Map<string, Signal<unknown>>();

export function draftOf<T>(taskId: string, key: string, first: () => T): Signal<T> {
  const name = JSON.stringify([taskId, key]);
  let draft = drafts.get(name) as Signal<T> | undefined;
  if (!draft) {
    draft = signal(first());
    drafts.set(name, draft as Signal<unknown>);
  }
  return draft;
}

export function forgetDraft(taskId: string, key: string): void {
  drafts.delete(JSON.stringify([taskId, key]));
}
