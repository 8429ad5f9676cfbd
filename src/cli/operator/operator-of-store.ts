/** The operator API of a store opened in this process, which has no tools and therefore cannot create tasks. */
import { Tasks } from '../../engine/tasks.ts';
import { hasCode } from '../../model/errors.ts';
import type { SecretFields } from '../../model/redaction.ts';
import type { TaskSummary } from '../../operator/api.ts';
import { Changes } from '../../operator/changes.ts';
import { Operator } from '../../operator/operator.ts';
import { type StoreLocation, storeWithTasks } from '../store-url.ts';
import { CommandFailed, quoted, version } from '../usage.ts';
import type { OpenOperator } from './open-operator.ts';

class OperatorWithoutTools extends Operator {
  override retry(id: string): Promise<TaskSummary> {
    return super.retry(id).catch((error: unknown) => {
      if (!hasCode(error, 'UNKNOWN_TOOL')) throw error;
      throw new CommandFailed(
        'Only a server that has the tool can retry the task: use --url with its address.',
      );
    });
  }
}

/** Shows all values. Secret fields are not known here, and anyone who can open the store can read them anyway. */
class RevealedTasks extends Tasks {
  override secretsOf(): SecretFields {
    return [];
  }
}

export async function operatorOfStore(location: StoreLocation, reveals: boolean): Promise<OpenOperator> {
  const name = nameOf(location);
  const open = await storeWithTasks(location);
  const database = await open().catch((error: unknown) => {
    if (!hasCode(error, 'STORE_NOT_UNLOCKED')) throw error;
    throw new CommandFailed(
      `The store at ${name} is encrypted, and only its servers have the keys: use --url with the address of a server.`,
    );
  });
  // Actions of operators are recorded only if the store has an audit log with entries already.
  const { entries } = await database.audit.read({ limit: 1 });
  const tasks = new (reveals ? RevealedTasks : Tasks)({ store: database, audit: entries.length > 0 });
  const changes = new Changes(tasks);
  return {
    operator: new OperatorWithoutTools(tasks, { version: version(), changes }),
    name,
    source: `--store ${quoted(location.kind === 'sqlite' ? `sqlite:${location.file}` : name)}`,
    hides: !reveals,
    [Symbol.asyncDispose]: async () => {
      await changes.close();
      await tasks.close();
    },
  };
}

/** The name of the store, without the password and parameters of a URL. */
function nameOf(location: StoreLocation): string {
  if (location.kind === 'memory') return 'memory:';
  if (location.kind === 'sqlite') return location.file;
  const url = URL.parse(location.url);
  if (!url) return 'postgres://…';
  if (url.password !== '') url.password = '…';
  url.search = '';
  return decodeURI(url.href);
}
