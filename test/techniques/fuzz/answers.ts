/** Answers that do not fit their question. Declining and cancelling fit any, so neither is here. */
import fc, { type Arbitrary } from 'fast-check';
import { not, owning, prototypeName } from './junk.ts';
import type { Loose } from './requests.ts';

export const accept = (content: Loose): Loose => ({ action: 'accept', content });

const notAnAction: Arbitrary<Loose> = fc.oneof(
  not('string'),
  fc.constantFrom('', 'ACCEPT', 'accepted', ' accept', 'toString', '__proto__'),
);

/** For a form with one field that must be there. */
function formAnswer(field: string, wrong: Arbitrary<Loose>): Arbitrary<Loose> {
  return fc.oneof(
    not('object'),
    fc.constantFrom({}, { action: 'accept' }, { content: {} }, accept({}), accept(null)),
    notAnAction.map((action) => ({ action, content: { [field]: 'x' } })),
    not('object').map(accept),
    wrong.map((value) => accept({ [field]: value })),
    prototypeName.map((name) => accept(owning(name, { [field]: true }))),
    // The right answer, in the prototype that JSON does not give it.
    fc.constant(owning('__proto__', accept({ [field]: true }))),
  );
}

const samplingAnswer: Arbitrary<Loose> = fc.oneof(
  not('object'),
  fc.constantFrom({}, { role: 'assistant' }, { role: 'assistant', content: { type: 'text', text: 'x' } }),
  not('string').map((role) => ({ role, content: { type: 'text', text: 'x' }, model: 'm' })),
  not('string').map((model) => ({ role: 'assistant', content: { type: 'text', text: 'x' }, model })),
  fc.constantFrom('', 'system', 'toString').map((role) => ({ role, content: { type: 'text' }, model: 'm' })),
  not('object', 'list').map((content) => ({ role: 'assistant', content, model: 'm' })),
  fc
    .constantFrom([], {}, [{}], [5], { type: 5 })
    .map((content) => ({ role: 'assistant', content, model: 'm' })),
);

export const nameAnswer = formAnswer('name', not('string'));
const confirmAnswer = formAnswer('confirm', not('boolean'));

/** By the tool that asked: the keys of its questions, and answers of which at least one does not fit. */
export const wrongAnswers: Readonly<Record<string, Arbitrary<Loose>>> = {
  ask_name: nameAnswer.map((name) => ({ name })),
  confirm_delete: confirmAnswer.map((confirm) => ({ confirm })),
  sample: samplingAnswer.map((sample) => ({ sample })),
  // One that fits does not save the other, and is not applied.
  multi_input: fc.oneof(
    confirmAnswer.map((second) => ({ first: accept({ confirm: true }), second })),
    confirmAnswer.map((first) => ({ first, second: accept({ confirm: true }) })),
  ),
  fan_out: fc.oneof(
    confirmAnswer.map((wrong) => ({ '1/confirm': accept({ confirm: true }), '2/confirm': wrong })),
    confirmAnswer.map((wrong) => ({ '1/confirm': wrong, '2/confirm': accept({ confirm: true }) })),
  ),
};

export const rightAnswers: Readonly<Record<string, Loose>> = {
  ask_name: { name: accept({ name: 'Ada' }) },
  confirm_delete: { confirm: accept({ confirm: true }) },
  sample: { sample: { role: 'assistant', content: { type: 'text', text: 'forty-two' }, model: 'm' } },
  multi_input: { first: accept({ confirm: true }), second: accept({ confirm: true }) },
  fan_out: { '1/confirm': accept({ confirm: true }), '2/confirm': accept({ confirm: true }) },
};

/** Answers to questions that nobody asked: passed over, whatever they are. */
export const strayAnswers: Arbitrary<Loose> = fc
  .tuple(
    fc.oneof(prototypeName, fc.constantFrom('nobody', '', 'name~2', '1/name', '3/confirm', 'NAME')),
    fc.oneof(fc.constant(accept({ name: 'Eve', confirm: true })), not('object')),
  )
  .map(([key, answer]) => owning(key, answer));
