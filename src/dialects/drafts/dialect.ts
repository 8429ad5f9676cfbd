/**
 * The drafts that build on 2025-11-25. Each one varies the dialect of that revision, and is active if both sides
 * declare it:
 *
 *   - SEP-2229: a server may answer with a task that was not requested, or with a result although a task was;
 *   - SEP-2268: subtasks are visible as tasks, with links in both directions;
 *   - SEP-2339: `tasks/continue` for questions and answers, and the outcome inside the task.
 */
import { isJsonObject, type Json, type JsonObject } from '../../model/json.ts';
import { tasksOf2025 } from '../2025-11-25/dialect.ts';
import { toInputRequest } from '../2026-07-28/input.ts';
import { questionsOf, type Tree } from '../collapse.ts';
import type { Dialect } from '../dialect.ts';
import { CallFailed } from '../errors.ts';
import type { Draft, Drafts } from './flags.ts';

/** The dialect of a session in which these drafts are agreed on. */
export function tasksWith(agreed: Drafts): Dialect {
  return [...agreed].reduce<Dialect>((base, draft) => variations[draft](base), tasksOf2025);
}

const variations: Record<Draft, (base: Dialect) => Dialect> = {
  // A dialect of its own, which each request selects with its `_meta`.
  'sep-1686': (base) => base,
  'sep-2229': (base) => ({
    ...base,
    sender: (capabilities) => ({ ...base.sender(capabilities), takesTasks: true, takesTasksUnasked: true }),
  }),
  'sep-2268': (base) => ({
    ...base,
    sender: (capabilities) => ({ ...base.sender(capabilities), knowsSubtasks: true }),
  }),
  'sep-2339': (base) => ({
    ...base,
    methods: [...base.methods.filter((method) => method !== 'tasks/result'), 'tasks/continue'],
    pushesQuestions: false,
    created: (tree, now) => {
      const { task, ...rest } = base.created(tree, now);
      return { ...rest, task: { ...(task as JsonObject), ...outcomeOf(tree) } };
    },
    shown: (tree, now) => ({ ...base.shown(tree, now), ...outcomeOf(tree) }),
    notification: (tree, now) => {
      const message = base.notification(tree, now);
      return message && { ...message, params: { ...message.params, ...outcomeOf(tree) } };
    },
  }),
};

/**
 * The `result` or `error` member of a task; neither while it is live or if it was cancelled. An error result is in
 * `result`, although the status of its task is `failed`.
 */
export function outcomeOf({ root }: Tree): JsonObject {
  if (root.phase !== 'done' || root.outcome.kind === 'cancelled') return {};
  if (root.outcome.kind === 'result') return { result: root.outcome.value };
  return { error: { ...tasksOf2025.fault(new CallFailed(root.outcome)) } as JsonObject };
}

/** The response to `tasks/continue` while questions are open: all open questions. Undefined if there is none. */
export function openQuestions(tree: Tree): JsonObject | undefined {
  const questions = tree.root.phase === 'done' ? [] : questionsOf(tree);
  if (questions.length === 0) return undefined;
  const wire = questions.map(({ key, request }) => [key, toInputRequest(request) as unknown as Json]);
  return { inputRequests: Object.fromEntries(wire) };
}

/** The drafts that the client declares and the server has turned on. */
export function agreedDrafts(capabilities: unknown, offered: Drafts): Drafts {
  const experimental = isJsonObject(capabilities) ? capabilities.experimental : undefined;
  if (!isJsonObject(experimental)) return none;
  return new Set([...offered].filter((draft) => isJsonObject(experimental[draft])));
}

const none: Drafts = new Set();
