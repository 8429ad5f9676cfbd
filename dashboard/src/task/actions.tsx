/** The actions of an operator on a task. */
import { useSignal } from '@preact/signals';
import type { TaskDetails } from '../../../src/operator/api.ts';
import { CopyButton } from '../content/copy.tsx';
import { sentenceOf } from '../errors.ts';
import { plural } from '../format.ts';
import { Button } from '../parts/button.tsx';
import { everything, href, navigate } from '../router.ts';
import { operatorApi } from '../session.ts';
import { Confirm } from './confirm.tsx';
import { curlOf, holdfastCallOf } from './copies.ts';

interface ActionsProps {
  readonly details: TaskDetails;
  /** A purged task has no actions. */
  readonly isGone: boolean;
  /** Reads the task again. */
  onDone(): Promise<void>;
}

export function Actions({ details, isGone, onDone }: ActionsProps) {
  const { task, retriedAs } = details;
  const confirming = useSignal<'cancel' | 'purge' | undefined>(undefined);
  const busy = useSignal(false);
  const error = useSignal<string | undefined>(undefined);
  const close = () => {
    confirming.value = undefined;
  };
  const isDone = task.finishedAt !== undefined;
  const isRoot = task.parentId === undefined;
  const hasEndedBadly = task.status === 'failed' || task.status === 'lost' || task.status === 'cancelled';
  const retry = async () => {
    busy.value = true;
    error.value = undefined;
    try {
      const next = await operatorApi.peek()!.retry(task.id);
      navigate({ view: 'task', id: next.id });
    } catch (thrown) {
      error.value = sentenceOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  const server = new URL('/mcp', location.origin).href;
  const holdfastCall = holdfastCallOf(details, server);
  return (
    <div class="actions">
      {!isDone && !isGone && (
        <Button
          kind="danger"
          icon="stop"
          onClick={() => {
            confirming.value = 'cancel';
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
          Go to the retry
        </a>
      )}
      {isDone && isRoot && !isGone && (
        <Button
          icon="bin"
          onClick={() => {
            confirming.value = 'purge';
          }}
        >
          Purge
        </Button>
      )}
      <div class="copies">
        <CopyButton label="Copy id" text={() => task.id} />
        <CopyButton label="Copy as curl" text={() => curlOf(details, server)} />
        {holdfastCall !== undefined && <CopyButton label="Copy as holdfast call" text={() => holdfastCall} />}
      </div>
      {error.value && (
        <p class="form-error" role="alert">
          {error.value}
        </p>
      )}
      {confirming.value === 'cancel' && (
        <Confirm
          title={`Cancel ${task.tool}?`}
          action="Cancel the task"
          onClose={close}
          onConfirm={async () => {
            await operatorApi.peek()!.cancel(task.id);
            await onDone();
          }}
        >
          <p>
            {task.liveChildCount > 0
              ? `${plural(task.liveChildCount, 'running subtask')} and everything below will be cancelled, too.`
              : 'It has no running subtasks.'}{' '}
            Completed steps are not undone.
          </p>
        </Confirm>
      )}
      {confirming.value === 'purge' && (
        <Confirm
          title={`Purge ${task.tool}?`}
          action="Purge the task"
          onClose={close}
          onConfirm={async () => {
            await operatorApi.peek()!.purge(task.id);
            navigate({ view: 'tasks', filter: everything });
          }}
        >
          <p>
            {task.childCount > 0
              ? `Its result, its history and its ${plural(task.childCount, 'subtask')} are`
              : 'Its result and its history are'}{' '}
            deleted permanently. The caller can no longer fetch the result.
          </p>
        </Confirm>
      )}
    </div>
  );
}
