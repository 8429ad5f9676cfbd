/** What an operator can do with a task. */
import { useSignal } from '@preact/signals';
import type { TaskDetails } from '../../../src/operator/api.ts';
import { CopyButton } from '../content/copy.tsx';
import { sentenceOf } from '../errors.ts';
import { plural } from '../format.ts';
import { Button } from '../parts/button.tsx';
import { everything, href, navigate } from '../router.ts';
import { desk } from '../session.ts';
import { Confirm } from './confirm.tsx';
import { curlOf, holdfastCallOf } from './copies.ts';

interface ActionsProps {
  readonly story: TaskDetails;
  /** Nothing can be done to what is purged. */
  readonly isGone: boolean;
  /** The story is to be read again. */
  onDone(): Promise<void>;
}

export function Actions({ story, isGone, onDone }: ActionsProps) {
  const { task, retriedAs } = story;
  const asked = useSignal<'cancel' | 'purge' | undefined>(undefined);
  const busy = useSignal(false);
  const error = useSignal<string | undefined>(undefined);
  const close = () => {
    asked.value = undefined;
  };
  const isDone = task.finishedAt !== undefined;
  const isRoot = task.parentId === undefined;
  const hasEndedBadly = task.status === 'failed' || task.status === 'lost' || task.status === 'cancelled';
  const retry = async () => {
    busy.value = true;
    error.value = undefined;
    try {
      const next = await desk.peek()!.retry(task.id);
      navigate({ view: 'task', id: next.id });
    } catch (thrown) {
      error.value = sentenceOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  const server = new URL('/mcp', location.origin).href;
  const holdfastCall = holdfastCallOf(story, server);
  return (
    <div class="actions">
      {!isDone && !isGone && (
        <Button
          kind="danger"
          icon="stop"
          onClick={() => {
            asked.value = 'cancel';
          }}
        >
          Cancel
        </Button>
      )}
      {isRoot && hasEndedBadly && !retriedAs && !isGone && (
        <Button kind="primary" icon="again" busy={busy.value} onClick={retry}>
          Retry
        </Button>
      )}
      {retriedAs && (
        <a class="button" href={href({ view: 'task', id: retriedAs })}>
          Go to its retry
        </a>
      )}
      {isDone && isRoot && !isGone && (
        <Button
          icon="bin"
          onClick={() => {
            asked.value = 'purge';
          }}
        >
          Purge
        </Button>
      )}
      <div class="copies">
        <CopyButton label="Copy id" text={() => task.id} />
        <CopyButton label="Copy as curl" text={() => curlOf(story, server)} />
        {holdfastCall !== undefined && <CopyButton label="Copy as holdfast call" text={() => holdfastCall} />}
      </div>
      {error.value && (
        <p class="form-error" role="alert">
          {error.value}
        </p>
      )}
      {asked.value === 'cancel' && (
        <Confirm
          title={`Cancel ${task.tool}?`}
          action="Cancel the task"
          onClose={close}
          onConfirm={async () => {
            await desk.peek()!.cancel(task.id);
            await onDone();
          }}
        >
          <p>
            {task.liveChildCount > 0
              ? `${plural(task.liveChildCount, 'subtask')} under way ${task.liveChildCount === 1 ? 'is' : 'are'} cancelled with it, with everything below.`
              : 'It has no subtasks under way.'}{' '}
            What its steps have done already stays done.
          </p>
        </Confirm>
      )}
      {asked.value === 'purge' && (
        <Confirm
          title={`Purge ${task.tool}?`}
          action="Purge the task"
          onClose={close}
          onConfirm={async () => {
            await desk.peek()!.purge(task.id);
            navigate({ view: 'tasks', filter: everything });
          }}
        >
          <p>
            {task.childCount > 0
              ? `Its result, its story and its ${plural(task.childCount, 'subtask')} are`
              : 'Its result and its story are'}{' '}
            removed for good. Whoever called it cannot fetch the result any more.
          </p>
        </Confirm>
      )}
    </div>
  );
}
