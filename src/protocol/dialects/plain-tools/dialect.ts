/**
 * Tasks in the words of ordinary tool results, for clients that know none: a model reads them, and goes on with plain
 * tools. It is a dialect like the others, so that every rule about tasks holds for its callers too.
 */
import type { JsonObject } from '../../../model/json.ts';
import type { Tree } from '../../collapse.ts';
import type { Dialect, Sender } from '../../dialect.ts';
import { CallFailed } from '../../errors.ts';
import { tasksExtension } from '../2026-07-28/dialect.ts';
import type { PlainToolNames } from './names.ts';
import { standingOf, standingResult } from './standing.ts';

/** `within` is the dialect of the connection that the tools are called on, `answers` what its client can be asked. */
export function plainTools(names: PlainToolNames, within: Dialect, answers: Sender['answers']): Dialect {
  const shown = (tree: Tree, now: number) => standingResult(standingOf(tree, names, now, answers), names);
  return {
    ...within,
    methods: tasksExtension.methods,
    refusesLateCancel: false,
    requestorNamesTasks: false,
    // What goes out on the stream of a call says nothing of tasks.
    related: (_tree, meta = {}) => meta,
    news: () => undefined,
    admits: () => true,
    created: (tree, now) => standingResult(standingOf(tree, names, now, answers), names, true),
    shown,
    listed: shown,
    acknowledged: shown,
  };
}

/** What the plain call would have given in the end; undefined while the task lives. */
export function ending(tree: Tree, names: PlainToolNames, now: number): JsonObject | undefined {
  const { root } = tree;
  if (root.phase !== 'done') return undefined;
  const { outcome } = root;
  if (outcome.kind === 'result') return toolResult(outcome.value as JsonObject, root.origin.method);
  if (outcome.kind === 'failure') throw new CallFailed(outcome);
  // Of a call that was cancelled or lost nobody would read the answer; of its task somebody does.
  return { ...standingResult(standingOf(tree, names, now, []), names), isError: true };
}

/** Whoever has the id of a resource or prompt reads it all the same. */
function toolResult(value: JsonObject, method: string): JsonObject {
  return method === 'tools/call' ? value : { content: [{ type: 'text', text: JSON.stringify(value) }] };
}
