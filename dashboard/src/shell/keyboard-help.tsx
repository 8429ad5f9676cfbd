import { signal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { isTyping } from '../keys.ts';
import { Button } from '../parts/button.tsx';

export const helpIsOpen = signal(false);

const keys: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['j', '↓'], 'next task'],
  [['k', '↑'], 'previous task'],
  [['Home'], 'newest task'],
  [['Enter'], 'open the task'],
  [['/'], 'search'],
  [['Esc'], 'leave the search, close this dialog'],
  [['g', 'o'], 'go to the overview'],
  [['g', 't'], 'go to the tasks'],
  [['?'], 'show these keys'],
];

export function KeyboardHelp() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== '?' || isTyping(event)) return;
      event.preventDefault();
      helpIsOpen.value = !helpIsOpen.value;
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  useSignalEffect(() => {
    if (helpIsOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  });
  return (
    <dialog
      class="dialog"
      ref={dialog}
      aria-labelledby="keys-title"
      onClose={({ currentTarget }) => {
        // The event fires later: the dialog may be open again by then.
        helpIsOpen.value = currentTarget.open;
      }}
    >
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {keys.map(([names, what]) => (
          <div key={what}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <Button
        onClick={() => {
          helpIsOpen.value = false;
        }}
      >
        Close
      </Button>
    </dialog>
  );
}
