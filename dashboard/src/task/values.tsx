/** The arguments and the result of a task. */
import { useSignal } from '@preact/signals';
import type { Outcome } from '../../../src/model/outcome.ts';
import { redacted } from '../../../src/model/redaction.ts';
import type { TaskDetails } from '../../../src/operator/api.ts';
import { Content } from '../content/content.tsx';
import { HiddenWhole } from '../content/hidden.tsx';
import { JsonTree } from '../content/json-tree.tsx';
import { sentenceOf } from '../errors.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icons.tsx';
import { operatorApi } from '../session.ts';

export function Arguments({ details }: { details: TaskDetails }) {
  return (
    <section class="card" aria-labelledby="arguments-title">
      <header class="part-head">
        <h2 id="arguments-title">Arguments</h2>
      </header>
      {details.arguments === redacted ? (
        <HiddenWhole />
      ) : (
        <JsonTree value={details.arguments} label="Arguments" />
      )}
    </section>
  );
}

export function Result({ details }: { details: TaskDetails }) {
  const { outcome } = details;
  return (
    <section class="card" aria-labelledby="result-title">
      <header class="part-head">
        <h2 id="result-title">Result</h2>
      </header>
      {outcome ? <OutcomeView details={details} outcome={outcome} /> : <p class="nothing">No result yet.</p>}
    </section>
  );
}

function OutcomeView({ details, outcome }: { details: TaskDetails; outcome: Outcome & { isLarge?: true } }) {
  switch (outcome.kind) {
    case 'result':
      return (
        <>
          {outcome.isError && (
            <p class="trouble">
              <Icon name="failed" />
              <span>The tool reported an error:</span>
            </p>
          )}
          {outcome.isLarge ? <LargeResult id={details.task.id} /> : <Content value={outcome.value} />}
        </>
      );
    case 'failure':
      return (
        <>
          <p class="trouble">
            <Icon name="failed" />
            <span>
              {outcome.message}
              {outcome.code !== undefined && <span class="muted"> (code {outcome.code})</span>}
            </span>
          </p>
          {outcome.data !== undefined && <JsonTree value={outcome.data} label="Details" />}
        </>
      );
    case 'cancelled':
      return (
        <p class="nothing">
          {outcome.reason ? `Cancelled: ${outcome.reason}` : 'Cancelled before there was a result.'}
        </p>
      );
    case 'lost':
      return (
        <p class="trouble">
          <Icon name="lost" />
          <span>{outcome.message}</span>
        </p>
      );
  }
}

/** A large result is loaded on request. */
function LargeResult({ id }: { id: string }) {
  const whole = useSignal<Outcome | undefined>(undefined);
  const busy = useSignal(false);
  const error = useSignal<string | undefined>(undefined);
  const fetchIt = async () => {
    busy.value = true;
    error.value = undefined;
    try {
      whole.value = await operatorApi.peek()!.result(id);
      if (!whole.value) error.value = 'The result no longer exists.';
    } catch (thrown) {
      error.value = sentenceOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  if (whole.value?.kind === 'result') return <Content value={whole.value.value} />;
  return (
    <div class="large">
      <p>The result is large and has not been loaded.</p>
      <Button busy={busy.value} onClick={fetchIt}>
        Show all
      </Button>
      {error.value && (
        <p class="form-error" role="alert">
          {error.value}
        </p>
      )}
    </div>
  );
}
