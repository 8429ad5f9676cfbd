/** The desk of a store that is opened here. This process has no tools: it can look at everything and make nothing. */
import { Tasks } from '../../engine/tasks.ts';
import { hasCode } from '../../model/errors.ts';
import type { SecretFields } from '../../model/redaction.ts';
import type { TaskSummary } from '../../operator/api.ts';
import { Changes } from '../../operator/changes.ts';
import { Operator } from '../../operator/operator.ts';
import { type StorePlace, storeWithTasks } from '../store-url.ts';
import { CommandFailed, quoted, version } from '../usage.ts';
import type { OpenDesk } from './open-operator.ts';

class OperatorWithoutTools extends Operator {
  override retry(id: string): Promise<TaskSummary> {
    return super.retry(id).catch((error: unknown) => {
      if (!hasCode(error, 'UNKNOWN_TOOL')) throw error;
      throw new CommandFailed(
        'Only a server that has the tool can make the call again: ask one, with --url.',
      );
    });
  }
}

/** What authors declared secret is not known here; whoever can open the store may see everything. */
class RevealedTasks extends Tasks {
  override secretsOf(): SecretFields {
    return [];
  }
}

export async function deskOfStore(place: StorePlace, reveals: boolean): Promise<OpenDesk> {
  const name = nameOf(place);
  const open = await storeWithTasks(place);
  const database = await open().catch((error: unknown) => {
    if (!hasCode(error, 'STORE_NOT_UNLOCKED')) throw error;
    throw new CommandFailed(
      `The store at ${name} is encrypted, and its servers have the keys: ask one of them, with --url.`,
    );
  });
  // What operators do is noted where everything else is noted, and nowhere else.
  const { entries } = await database.audit.read({ limit: 1 });
  const tasks = new (reveals ? RevealedTasks : Tasks)({ store: database, audit: entries.length > 0 });
  const changes = new Changes(tasks);
  return {
    desk: new OperatorWithoutTools(tasks, { version: version(), changes }),
    name,
    place: `--store ${quoted(place.kind === 'sqlite' ? `sqlite:${place.file}` : name)}`,
    hides: !reveals,
    [Symbol.asyncDispose]: async () => {
      await changes.close();
      await tasks.close();
    },
  };
}

/** Without a password. */
function nameOf(place: StorePlace): string {
  if (place.kind === 'memory') return 'memory:';
  if (place.kind === 'sqlite') return place.file;
  const url = URL.parse(place.url);
  if (!url) return 'postgres://…';
  if (url.password !== '') url.password = '…';
  url.search = '';
  return decodeURI(url.href);
}
