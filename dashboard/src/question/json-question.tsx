/** Questions that programs usually answer. A person answers them in JSON. */
import { useSignal } from '@preact/signals';
import type { TargetedSubmitEvent } from 'preact';
import { useId } from 'preact/hooks';
import { answerProblem } from '../../../src/model/answer.ts';
import type { InputRequest } from '../../../src/model/input.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../src/model/json.ts';
import { blockOf } from '../content/blocks.ts';
import { BlockView } from '../content/content.tsx';
import { JsonTree } from '../content/json-tree.tsx';
import { Button } from '../parts/button.tsx';
import { draftOf } from './drafts.ts';
import { type Send, useSending } from './sending.ts';

type Asked = Extract<InputRequest, { kind: 'sampling' | 'roots' }>;

const templates: Readonly<Record<Asked['kind'], JsonObject>> = {
  sampling: { role: 'assistant', model: 'a person', content: { type: 'text', text: '' } },
  roots: { roots: [{ uri: 'file:///', name: '' }] },
};

interface JsonQuestionProps {
  readonly taskId: string;
  readonly questionKey: string;
  readonly request: Asked;
  readonly send: Send;
}

export function JsonQuestion({ taskId, questionKey, request, send }: JsonQuestionProps) {
  const id = useId();
  const text = draftOf(taskId, questionKey, () => JSON.stringify(templates[request.kind], null, 2));
  const problem = useSignal<string | undefined>(undefined);
  const sending = useSending(send);
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const read = readAnswer(request, text.value);
    problem.value = read.problem;
    if (read.response) void sending.send('accept', read.response);
  };
  return (
    <form class="form" onSubmit={submit} noValidate>
      <div class="form-field" data-problem={problem.value !== undefined}>
        <label for={id}>Answer, as JSON</label>
        <textarea
          id={id}
          class="mono"
          rows={8}
          spellcheck={false}
          value={text.value}
          aria-invalid={problem.value !== undefined}
          aria-describedby={problem.value ? `${id}-problem` : undefined}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
          }}
        />
        {problem.value && (
          <p class="form-field-problem" id={`${id}-problem`} role="alert">
            {problem.value}
          </p>
        )}
      </div>
      {sending.error.value && (
        <p class="form-error" role="alert">
          {sending.error.value}
        </p>
      )}
      <div class="form-actions">
        <Button type="submit" kind="primary" busy={sending.busy.value === 'accept'}>
          Send answer
        </Button>
      </div>
    </form>
  );
}

function readAnswer(request: Asked, text: string): { response?: JsonObject; problem?: string } {
  let response: Json;
  try {
    response = JSON.parse(text);
  } catch {
    return { problem: 'This is not JSON: check quotes and commas.' };
  }
  if (!isJsonObject(response)) return { problem: 'The answer must be an object.' };
  const problem = answerProblem(request, response);
  return problem ? { problem: `The answer does not fit: ${problem}.` } : { response };
}

/** A request to a model: its instructions, the messages, and the other parameters as data. */
export function SamplingView({ params }: { params: JsonObject }) {
  const { messages, systemPrompt, ...rest } = params;
  return (
    <div class="sampling">
      {typeof systemPrompt === 'string' && (
        <section class="message" aria-label="Instructions">
          <h4>instructions</h4>
          <p class="plain-text">{systemPrompt}</p>
        </section>
      )}
      {(Array.isArray(messages) ? messages : []).map((message: Json, i: number) => (
        <BlockView key={i} block={blockOf(message)} />
      ))}
      {Object.keys(rest).length > 0 && (
        <details>
          <summary>Parameters for the model</summary>
          <JsonTree value={rest} />
        </details>
      )}
    </div>
  );
}
