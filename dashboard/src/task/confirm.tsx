/** Asks before an action that cannot be undone. The native dialog keeps the focus inside and closes on Escape. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { sentenceOf } from '../errors.ts';
import { Button } from '../parts/button.tsx';

interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  readonly children: ComponentChildren;
  onConfirm(): Promise<void>;
  onClose(): void;
}

export function Confirm({ title, action, children, onConfirm, onClose }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const busy = useSignal(false);
  const error = useSignal<string | undefined>(undefined);
  useEffect(() => {
    dialog.current!.showModal();
  }, []);
  // The browser returns the focus to where it was, if that element still exists.
  const close = () => {
    dialog.current?.close();
    onClose();
  };
  // The event fires later: the next dialog may be open by then.
  const onClosed = () => {
    if (dialog.current) onClose();
  };
  const confirm = async () => {
    busy.value = true;
    try {
      await onConfirm();
      close();
    } catch (thrown) {
      error.value = sentenceOf(thrown);
      busy.value = false;
    }
  };
  return (
    <dialog class="confirm" ref={dialog} onClose={onClosed} aria-labelledby="confirm-title">
      <h2 id="confirm-title">{title}</h2>
      {children}
      {error.value && (
        <p class="form-error" role="alert">
          {error.value}
        </p>
      )}
      <div class="form-actions">
        <Button kind="danger" busy={busy.value} onClick={confirm}>
          {action}
        </Button>
        <Button autofocus onClick={close}>
          Keep it
        </Button>
      </div>
    </dialog>
  );
}
