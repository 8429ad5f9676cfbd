/** One field of a form with its label, hint and problem. */
import type { ComponentChildren } from 'preact';
import type { Choice, Entry, Field } from './fields.ts';

export interface FieldProps {
  readonly id: string;
  readonly field: Field;
  readonly entry: Entry;
  readonly problem: string | undefined;
  onEnter(entry: Entry): void;
}

export function FieldView(props: FieldProps) {
  const { id, field, problem } = props;
  const { control } = field;
  const isGroup = control.type === 'yes-no' || control.type === 'some' || isRadio(field);
  const label = (
    <>
      {field.label}
      {!field.isRequired && <span class="optional"> optional</span>}
    </>
  );
  const about = (
    <>
      {field.description && (
        <p class="form-field-about" id={`${id}-about`}>
          {field.description}
        </p>
      )}
    </>
  );
  const below = (
    <>
      {field.hint && (
        <p class="form-field-hint" id={`${id}-hint`}>
          {field.hint}
        </p>
      )}
      {problem && (
        <p class="form-field-problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </>
  );
  if (isGroup)
    return (
      <fieldset
        class="form-field"
        data-control={control.type}
        id={id}
        tabIndex={-1}
        aria-describedby={describedBy(props)}
        data-problem={problem !== undefined}
      >
        <legend>{label}</legend>
        {about}
        <Choices {...props} />
        {below}
      </fieldset>
    );
  return (
    <div class="form-field" data-control={control.type} data-problem={problem !== undefined}>
      <label for={id}>{label}</label>
      {about}
      <Input {...props} />
      {below}
    </div>
  );
}

/** A few choices are radio buttons, many are a select list. */
function isRadio({ control }: Field): boolean {
  return control.type === 'one' && control.choices.length <= 6;
}

function describedBy({ id, field, problem }: FieldProps): string | undefined {
  const parts = [
    field.description && `${id}-about`,
    field.hint && `${id}-hint`,
    problem !== undefined && `${id}-problem`,
  ];
  return parts.filter(Boolean).join(' ') || undefined;
}

function Input(props: FieldProps): ComponentChildren {
  const { id, field, entry, problem, onEnter } = props;
  const { control } = field;
  const shared = {
    id,
    'aria-describedby': describedBy(props),
    'aria-invalid': problem !== undefined,
    'aria-required': field.isRequired,
  };
  const typed = {
    ...shared,
    value: String(entry),
    onInput: (event: { currentTarget: { value: string } }) => onEnter(event.currentTarget.value),
    autocomplete: 'off' as const,
  };
  switch (control.type) {
    case 'one':
      return (
        <select
          {...shared}
          value={entry.length > 0 ? String(entry[0]) : ''}
          onChange={({ currentTarget: { value } }) => onEnter(value === '' ? [] : [Number(value)])}
        >
          <option value="">Choose…</option>
          {control.choices.map(({ title }, i) => (
            <option key={i} value={String(i)}>
              {title}
            </option>
          ))}
        </select>
      );
    case 'number':
      // Not of type "number": browsers return an empty value for input that is not a number.
      return (
        <input {...typed} type="text" inputMode={control.isWhole ? 'numeric' : 'decimal'} class="short" />
      );
    case 'moment':
      return (
        <>
          <input {...typed} type="datetime-local" step="1" class="medium" />
          <p class="form-field-hint">
            In your own time zone, {Intl.DateTimeFormat().resolvedOptions().timeZone}
          </p>
        </>
      );
    case 'long-text':
      return <textarea {...typed} rows={5} />;
    case 'json':
      return <textarea {...typed} rows={5} class="mono" spellcheck={false} />;
    case 'text':
      if (control.input === 'date') return <input {...typed} type="date" class="medium" />;
      return control.input === 'email' ? (
        <input {...typed} type="email" />
      ) : control.input === 'url' ? (
        <input {...typed} type="url" />
      ) : (
        <input {...typed} type="text" />
      );
    default:
      return null;
  }
}

const yesAndNo: readonly Choice[] = [
  { value: true, title: 'Yes' },
  { value: false, title: 'No' },
];

function Choices({ id, field, entry, onEnter }: FieldProps) {
  const { control } = field;
  const choices = 'choices' in control ? control.choices : yesAndNo;
  const isSome = control.type === 'some';
  const isChosen = (i: number) =>
    typeof entry === 'string' ? entry === String(choices[i]!.value) : entry.includes(i);
  const choose = (i: number, isOn: boolean) => {
    if (control.type === 'yes-no') onEnter(String(choices[i]!.value));
    else if (!isSome) onEnter([i]);
    else {
      const others = (entry as readonly number[]).filter((other) => other !== i);
      onEnter((isOn ? [...others, i] : others).toSorted((a, b) => a - b));
    }
  };
  const isLong = choices.some(({ title }) => title.length > 24);
  return (
    <div class={`choices${isLong ? ' choices-long' : ''}`}>
      {choices.map(({ title }, i) => (
        <label key={i} class="choice">
          <input
            type={isSome ? 'checkbox' : 'radio'}
            name={id}
            checked={isChosen(i)}
            onChange={({ currentTarget }) => choose(i, currentTarget.checked)}
          />
          <span>{title}</span>
        </label>
      ))}
      {!isSome && !field.isRequired && entry.length > 0 && (
        <button type="button" class="more" onClick={() => onEnter(control.type === 'yes-no' ? '' : [])}>
          Clear
        </button>
      )}
    </div>
  );
}
