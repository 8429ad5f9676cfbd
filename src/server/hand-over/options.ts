/** What an author says about clients that know no tasks. */
import { checkedName } from '../../engine/tool.ts';
import { type Duration, toMs } from '../../model/duration.ts';
import { HoldfastError } from '../../model/errors.ts';
import {
  defaultPrefix,
  type PlainToolNames,
  plainToolNames,
} from '../../protocol/dialects/plain-tools/names.ts';

export interface AttachOptions {
  /**
   * What becomes of a call by a client that knows no tasks. `'wait'` (the default): it waits for the ordinary result,
   * however long that takes. `'hand-over'`: after 45 s it is told of its task, and goes on with plain tools.
   */
  readonly plainClients?: 'wait' | 'hand-over' | HandOverOptions;
}

export interface HandOverOptions {
  /** How long a call, and each wait for it after that, is kept open: less than clients wait. Default `'45s'`. */
  readonly handOver?: Duration;
  /** What the names of the four tools begin with. Default `'task_'`. */
  readonly prefix?: string;
  /**
   * Whether clients of 2025-11-25 and before, which do not say whether they know tasks, are given them too. Default
   * true.
   */
  readonly earlierRevisions?: boolean;
}

export class InvalidPlainClients extends HoldfastError {
  constructor(given: unknown) {
    super(
      `plainClients is ${JSON.stringify(given) ?? String(given)}: give 'wait', 'hand-over', or how to hand over, such as { handOver: '45s' }.`,
    );
  }
}

/** A tool of the author's has the name of one by which plain clients go on. */
export class ToolNameTaken extends HoldfastError {
  constructor(name: string) {
    super(
      `There is a durable tool "${name}", and plain clients go on with a tool of that name. Rename it, or give attach(mcp, { plainClients: { prefix: … } }).`,
    );
  }
}

export interface HandOverSettings {
  readonly windowMs: number;
  readonly names: PlainToolNames;
  readonly earlierRevisions: boolean;
}

/** Undefined if plain clients wait. */
export function handOverSettings({ plainClients = 'wait' }: AttachOptions): HandOverSettings | undefined {
  if (plainClients === 'wait') return undefined;
  const options = plainClients === 'hand-over' ? {} : plainClients;
  if (typeof options !== 'object' || options === null) throw new InvalidPlainClients(plainClients);
  const { handOver = '45s', prefix = defaultPrefix, earlierRevisions = true } = options;
  const names = plainToolNames(prefix);
  for (const name of Object.values(names)) checkedName('tool', name);
  return { windowMs: toMs(handOver), names, earlierRevisions };
}
