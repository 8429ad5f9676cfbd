/**
 * The operator API of a `Tasks`. A viewer with an owner only sees that owner's tasks: every access goes through `#find`
 * or `#own`. Secret fields are redacted.
 */

import { checkAnswers } from '../engine/replay/json-value.ts';
import * as rules from '../engine/rules/transitions.ts';
import type { Tasks } from '../engine/tasks.ts';
import { HoldfastError, refusal } from '../model/errors.ts';
import type { JsonObject } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import { pagesOf } from '../model/paging.ts';
import { redactTask, type SecretFields } from '../model/redaction.ts';
import { openInputs, type Task, type TaskId } from '../model/task.ts';
import type { Actor } from '../ports/audit.ts';
import { onBehalfOf } from '../ports/change.ts';
import {
  type CorruptTask,
  type HistoryPage,
  isCorrupt,
  type TaskCount,
  type TaskFilter,
} from '../ports/query.ts';
import type { Database, Secrets } from '../ports/queue.ts';
import { TaskCorrupt } from '../ports/store-errors.ts';
import { runtime } from '../runtime/runtime.ts';
import { Sealer } from '../security/sealing.ts';
import type {
  About,
  ChangeMessage,
  ListOfTasks,
  OperatorApi,
  OverviewReport,
  TaskDetails,
  TaskPage,
  TaskSummary,
  Viewer,
} from './api.ts';
import { Changes } from './changes.ts';
import { HistoryReader } from './history.ts';
import { isRetryable, retry, retryIdOf } from './retry.ts';
import {
  corruptDetails,
  corruptHistory,
  corruptTaskOf,
  isLargerThan,
  redactedSummary,
  shortText,
  summaryOf,
} from './summary.ts';

/** The query itself is invalid. */
export class BadQuery extends HoldfastError {
  constructor(message: string) {
    super('INVALID_QUERY', message);
  }
}

const maxListed = 500;
const defaultListed = 50;
/** How long a sealed cursor can be used. */
const cursorLifeMs = 24 * 3_600_000;
const maxCounted = 10_000;
const maxChildren = 500;
const maxAudit = 500;
/** Time buckets in an overview. */
const buckets = 60;
const minWindowMs = 60_000;
const maxWindowMs = 90 * 24 * 3_600_000;
/** The number of tasks that an overview lists of each kind. */
const maxExamples = 5;
/** Pages to read for them: a page can be empty without being the last. */
const maxExamplePages = 5;
/** Commits per page of a history. */
const historyPage = 200;
/** In characters of JSON. Larger results are only returned by `result`. */
const largeResult = 50_000;
/** Maximum length of the reason of a cancellation, in characters. */
const maxReason = 1_000;
/** How many subtasks are read at the same time. */
const parallelReads = 8;

export interface OperatorOptions {
  /** By default a viewer who sees all tasks. */
  readonly viewer?: Viewer;
  readonly version?: string;
  /** Shared by all viewers of the same process. */
  readonly changes?: Changes;
}

export class Operator implements OperatorApi {
  readonly #tasks: Tasks;
  readonly #viewer: Viewer;
  readonly #version: string;
  readonly #changes: Changes;
  readonly #by: Actor;

  constructor(tasks: Tasks, { viewer = {}, version = '', changes }: OperatorOptions = {}) {
    this.#tasks = tasks;
    this.#viewer = viewer;
    this.#version = version;
    this.#changes = changes ?? new Changes(tasks);
    this.#by = { by: viewer.owner === undefined ? 'operator' : 'caller' };
  }

  async about(): Promise<About> {
    const { tools, resources, prompts, clock, recorder } = this.#tasks;
    return {
      version: this.#version,
      ...this.#viewer,
      now: clock.now(),
      tools: [...new Set([...tools, ...resources, ...prompts].map(({ name }) => name))],
      audit: recorder !== undefined,
    };
  }

  async list({ limit = defaultListed, cursor, ...filter }: ListOfTasks): Promise<TaskPage> {
    if (!Number.isInteger(limit) || limit < 1 || limit > maxListed)
      throw new BadQuery(`"limit" must be a whole number from 1 to ${maxListed}.`);
    const { queries, secrets } = await this.#tasks.served();
    const sealer = await this.#cursorSealer(secrets);
    const now = this.#tasks.clock.now();
    const from = cursor !== undefined && sealer ? openedCursor(sealer, cursor, now) : cursor;
    const own = this.#own(filter);
    if (!own) return { tasks: [] };
    const query = { ...own, limit, ...(from !== undefined && { cursor: from }) };
    const { tasks, nextCursor } = await queries.list(query);
    return {
      tasks: tasks.map((task) => this.#summary(task)),
      ...(nextCursor !== undefined && {
        nextCursor: sealer ? sealer.seal(nextCursor, now + cursorLifeMs) : nextCursor,
      }),
    };
  }

  /** Cursors reveal the number of all tasks, so they are sealed for viewers who only see some tasks. */
  async #cursorSealer(secrets: Secrets): Promise<Sealer | undefined> {
    const { owner } = this.#viewer;
    if (owner === undefined) return undefined;
    return new Sealer(await secrets.get('cursors'), `operator cursors of ${owner}`);
  }

  async count(filter: TaskFilter): Promise<TaskCount> {
    const own = this.#own(filter);
    if (!own) return { count: 0, isMore: false };
    const { queries } = await this.#tasks.served();
    return queries.count(own, maxCounted);
  }

  async overview({ windowMs }: { readonly windowMs: number }): Promise<OverviewReport> {
    if (!Number.isInteger(windowMs) || windowMs < minWindowMs || windowMs > maxWindowMs)
      throw new BadQuery(
        `"window" must be a whole number of milliseconds from ${minWindowMs} (a minute) to ${maxWindowMs} (90 days).`,
      );
    const { queries } = await this.#tasks.served();
    const now = this.#tasks.clock.now();
    // Aligned to a grid, so that later requests get the same buckets and bars do not shift.
    const length = Math.ceil(windowMs / buckets);
    const until = (Math.floor(now / length) + 1) * length;
    const since = until - length * buckets;
    const [overview, waiting, failing] = await Promise.all([
      queries.overview({ ...this.#viewer, since, until, buckets }),
      this.#examples({ statuses: ['waiting'] }),
      this.#examples({ statuses: ['failed', 'lost'] }),
    ]);
    return { ...overview, now, since, until, waiting, failing };
  }

  async details(id: TaskId): Promise<TaskDetails | undefined> {
    try {
      return await this.#details(id);
    } catch (error) {
      const corrupt = await corruptTaskOf(await this.#tasks.served(), error);
      if (!corrupt || corrupt.id !== id) throw error;
      const task = { ...this.#summary(corrupt), ...(!isCorrupt(corrupt) && corruptHistory) };
      return corruptDetails(task, (await this.#auditOf(id)).entries);
    }
  }

  async #details(id: TaskId): Promise<TaskDetails | undefined> {
    const found = await this.#find(id, 'details');
    if (!found) return undefined;
    const database = await this.#tasks.served();
    const children = await this.#children(database, id);
    const secrets = new Map(children.map(({ summary, fields }) => [summary.id, fields]));
    const reader = new HistoryReader({
      own: this.#tasks.secretsOf(found.task),
      of: (childId) => secrets.get(childId) ?? 'all',
    });
    if (!(await this.#readHistory(database, id, reader))) return undefined;
    // Read last, so that it is not older than its history. A finished task does not change and may be large.
    const { phase } = found.task;
    const task = phase === 'done' ? found.task : await database.store.get(id, this.#viewer.owner);
    if (!task) return undefined;
    const audit = await this.#auditOf(id);
    const retriedAs = isRetryable(task) ? await this.#retriedAs(database, id) : undefined;
    const shown = redactTask(task, this.#tasks.secretsOf(task));
    const { dialect, method, retryOf } = task.origin;
    const live = task.phase === 'done' ? undefined : task;
    this.#noteRead(task);
    return {
      task: summaryOf(shown),
      origin: { dialect, method },
      ...reader.history(shown),
      ...(shown.phase === 'done' && { outcome: withoutLarge(shown.outcome) }),
      purgeAt: task.phase === 'done' ? task.purgeAt : null,
      wakeAt: live?.wakeAt ?? null,
      ...(live?.worker && { worker: live.worker }),
      ...(retryOf !== undefined && { retryOf }),
      ...(retriedAs !== undefined && { retriedAs }),
      ancestors: found.ancestors.map((one) => ({ id: one.id, tool: one.tool })),
      children: children.map(({ summary }) => summary),
      audit: audit.entries,
    };
  }

  #auditOf(id: TaskId) {
    return this.#tasks.audit.read({ taskId: id, ...this.#viewer, limit: maxAudit });
  }

  async result(id: TaskId): Promise<Outcome | undefined> {
    const found = await this.#find(id, 'result');
    if (found?.task.phase !== 'done') return undefined;
    this.#noteRead(found.task);
    return redactTask(found.task, this.#tasks.secretsOf(found.task)).outcome;
  }

  async cancel(id: TaskId, reason = `The ${this.#by.by} cancelled it.`): Promise<TaskSummary> {
    if (reason.length > maxReason)
      throw new BadQuery(`"reason" has ${reason.length} characters; use at most ${maxReason}.`);
    await this.#authorized(id, 'cancel');
    const { store } = await this.#tasks.served();
    const { task } = await store.update('family', id, (family) =>
      onBehalfOf(this.#by, rules.cancel(family, this.#tasks.clock.now(), reason)),
    );
    return this.#summary(task);
  }

  async retry(id: TaskId): Promise<TaskSummary> {
    return this.#summary(await retry(this.#tasks, await this.#authorized(id, 'retry'), this.#by));
  }

  async answer(id: TaskId, key: string, response: JsonObject): Promise<TaskSummary> {
    await this.#authorized(id, 'answer');
    checkAnswers({ [key]: response }, this.#tasks.engineLimits.maxValueSize);
    const { store } = await this.#tasks.served();
    const { task } = await store.update('task', id, (one) => {
      if (!openInputs(one).some((input) => input.key === key))
        return refusal('QUESTION_NOT_OPEN', id, shortText(key, 100));
      return onBehalfOf(this.#by, rules.answer(one, { [key]: response }, this.#tasks.clock.now()));
    });
    return this.#summary(task);
  }

  async purge(id: TaskId): Promise<void> {
    await this.#authorized(id, 'purge');
    await (await this.#tasks.requests()).purge(id, this.#by);
  }

  changes(options: { readonly signal: AbortSignal; readonly lastId?: string }): AsyncIterable<ChangeMessage> {
    return this.#changes.follow(this.#viewer, options);
  }

  // --- Who may see what -----------------------------------------------------------------------------------

  /** Restricts the filter to the viewer's own tasks. Undefined if the viewer may not see any of them. */
  #own(filter: TaskFilter): TaskFilter | undefined {
    const { owner = filter.owner } = this.#viewer;
    return filter.owner === undefined || filter.owner === owner ? { ...filter, ...this.#viewer } : undefined;
  }

  async #authorized(id: TaskId, what: string): Promise<Task> {
    const found = await this.#find(id, what);
    if (!found) throw refusal('TASK_NOT_FOUND', id);
    return found.task;
  }

  /** The task, if the viewer may see it, with its ancestors from the root down. `what` is for the audit log. */
  async #find(id: TaskId, what: string): Promise<{ task: Task; ancestors: Task[] } | undefined> {
    const { store } = await this.#tasks.served();
    const task = await store.get(id, this.#viewer.owner);
    const ancestors: Task[] = [];
    for (let above = task?.parentId; above !== undefined; above = ancestors[0]?.parentId) {
      const parent = await store.get(above).catch((error: unknown) => {
        if (error instanceof TaskCorrupt) return 'corrupt' as const;
        throw error;
      });
      // The ancestors of a corrupt task are not known.
      if (parent === 'corrupt') break;
      if (!parent) return undefined;
      ancestors.unshift(parent);
    }
    if (task) return { task, ancestors };
    this.#noteDenied(id, what);
    return undefined;
  }

  // --- Reading --------------------------------------------------------------------------------------------

  #summary(task: Task | CorruptTask): TaskSummary {
    return redactedSummary(task, this.#tasks);
  }

  async #examples(filter: TaskFilter): Promise<TaskSummary[]> {
    const found: TaskSummary[] = [];
    let pages = 0;
    for await (const { tasks } of pagesOf((from) => this.list({ ...filter, limit: maxExamples, ...from }))) {
      found.push(...tasks);
      if (++pages === maxExamplePages || found.length >= maxExamples) break;
    }
    return found.slice(0, maxExamples);
  }

  /** Reads page by page and yields to the event loop in between. False if the task does not exist. */
  async #readHistory({ queries }: Database, id: TaskId, reader: HistoryReader): Promise<boolean> {
    for (let afterVersion: number | undefined = 0; afterVersion !== undefined; ) {
      const page: HistoryPage | undefined = await queries.history(id, { afterVersion, limit: historyPage });
      if (!page) return false;
      for (const commit of page.commits) reader.read(commit);
      afterVersion = page.nextVersion;
      await new Promise((resolve) => runtime.setImmediate(resolve));
    }
    return true;
  }

  /** The subtasks, each with its secret fields. */
  async #children(
    database: Database,
    id: TaskId,
  ): Promise<{ readonly summary: TaskSummary; readonly fields: SecretFields }[]> {
    const { store } = database;
    const ids = (await store.childIds(id)).slice(0, maxChildren);
    // One per turn of the event loop, because each may have a large result.
    const read = async (one: TaskId) => {
      const child = await store.get(one).catch((error: unknown) => corruptTaskOf(database, error));
      if (!child) return [];
      const fields: SecretFields = isCorrupt(child) ? 'all' : this.#tasks.secretsOf(child);
      return [{ summary: this.#summary(child), fields }];
    };
    const children: Awaited<ReturnType<typeof read>> = [];
    for (let from = 0; from < ids.length; from += parallelReads) {
      const reads: ReturnType<typeof read>[] = [];
      for (const one of ids.slice(from, from + parallelReads)) {
        const found = read(one);
        // Errors are handled by Promise.all, after all reads have started.
        found.catch(() => {});
        reads.push(found);
        await new Promise((resolve) => runtime.setImmediate(resolve));
      }
      children.push(...(await Promise.all(reads)).flat());
    }
    return children;
  }

  /** The task that is the rerun of this one, if there is one and the viewer may see it. */
  async #retriedAs(database: Database, id: TaskId): Promise<TaskId | undefined> {
    return (await database.store.get(await retryIdOf(database, id), this.#viewer.owner))?.id;
  }

  // --- The audit log --------------------------------------------------------------------------------------

  /** Records that an outcome was read. A cancelled task has no result to read. */
  #noteRead(task: Task): void {
    const { recorder } = this.#tasks;
    if (!recorder || task.phase !== 'done' || task.outcome.kind === 'cancelled') return;
    const { id, owner, tool } = task;
    recorder.note(`${this.#by.by} ${id}`, { action: 'result-read', owner, taskId: id, tool, ...this.#by });
  }

  #noteDenied(id: TaskId, what: string): void {
    const { owner = null } = this.#viewer;
    const reason = `operator ${what}: the task does not exist${owner === null ? '' : ' for this owner'}.`;
    this.#tasks.recorder?.refuse({ action: 'denied', owner, taskId: storable(id), reason, ...this.#by });
  }
}

/** A requested id can be any text. Not every database can store lone surrogates or NUL characters. */
function storable(id: string): string {
  return id.slice(0, 128).toWellFormed().replaceAll('\0', '\ufffd');
}

function openedCursor(sealer: Sealer, cursor: string, now: number): string {
  const opened = sealer.open(cursor, now);
  if ('value' in opened) return opened.value as string;
  throw new BadQuery(
    opened.problem === 'expired'
      ? 'This cursor has expired. Start again without one.'
      : 'This cursor belongs to another caller. Start again without one.',
  );
}

function withoutLarge(outcome: Outcome): NonNullable<TaskDetails['outcome']> {
  if (outcome.kind !== 'result' || !isLargerThan(outcome.value, largeResult)) return outcome;
  return { ...outcome, value: null, isLarge: true };
}
