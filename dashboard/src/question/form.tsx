/** The form of a question. After the first submit it shows all problems, at the fields and above them. */
import { useSignal } from '@preact/signals';
import type { TargetedSubmitEvent } from 'preact';
import { useId, useMemo, useRef } from 'preact/hooks';
import type { JsonObject } from '../../../src/model/json.ts';
import { plural } from '../format.ts';
import { Button } from '../parts/button.tsx';
import { draftOf } from './drafts.ts';
import { FieldView } from './field-view.tsx';
import { type Entries, fieldsOf, firstEntries, readEntries } from './fields.ts';
import { type Send, useSending } from './sending.ts';

interface FormProps {
  readonly taskId: string;
  readonly questionKey: string;
  readonly schema: JsonObject;
  readonly send: Send;
}

export function QuestionForm({ taskId, questionKey, schema, send }: FormProps) {
  const fields = useMemo(() => fieldsOf(schema), [questionKey]);
  const entries = draftOf<Entries>(taskId, questionKey, () => firstEntries(fields));
  const wasTried = useSignal(false);
  const sending = useSending(send);
  const summary = useRef<HTMLDivElement>(null);
  const id = useId();
  const read = readEntries(fields, entries.value);
  const problems = wasTried.value ? (read.problems ?? []) : [];
  const fieldId = (name: string) => `${id}-${fields.findIndex((field) => field.name === name)}`;
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    wasTried.value = true;
    if (!read.problems) return void sending.send('accept', { action: 'accept', content: read.content });
    requestAnimationFrame(() => summary.current?.focus());
  };
  const refuse = (action: 'decline' | 'cancel') => () => sending.send(action, { action });
  return (
    <form class="form" onSubmit={submit} noValidate>
      {problems.length > 0 && (
        <div class="form-problems" ref={summary} tabIndex={-1} role="alert">
          <p>{plural(problems.length, 'field needs', 'fields need')} to be corrected:</p>
          <ul>
            {problems.map(({ name, label, message }) => (
              <li key={name}>
                <button type="button" class="more" onClick={() => focusOn(fieldId(name))}>
                  {label}
                </button>
                : {message}
              </li>
            ))}
          </ul>
        </div>
      )}
      <div class="form-fields">
        {fields.map((field) => (
          <FieldView
            key={field.name}
            id={fieldId(field.name)}
            field={field}
            entry={entries.value[field.name] ?? ''}
            problem={problems.find(({ name }) => name === field.name)?.message}
            onEnter={(entry) => {
              entries.value = { ...entries.peek(), [field.name]: entry };
            }}
          />
        ))}
      </div>
      {sending.error.value && (
        <p class="form-error" role="alert">
          {sending.error.value}
        </p>
      )}
      <div class="form-actions">
        <Button type="submit" kind="primary" busy={sending.busy.value === 'accept'}>
          {fields.length === 0 ? 'Accept' : 'Send answer'}
        </Button>
        <Button busy={sending.busy.value === 'decline'} onClick={refuse('decline')}>
          Decline
        </Button>
        <Button
          kind="quiet"
          busy={sending.busy.value === 'cancel'}
          onClick={refuse('cancel')}
          title="Closes the question without accepting or declining"
        >
          Dismiss
        </Button>
      </div>
    </form>
  );
}

/** A group of choices cannot be focused, so its first choice is. */
function focusOn(id: string): void {
  const element = document.getElementById(id);
  const inside = element instanceof HTMLFieldSetElement ? element.querySelector('input') : element;
  inside?.focus();
  inside?.scrollIntoView({ block: 'center' });
}
