import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Button } from '../parts/button.tsx';

/** Copies a text to the clipboard and confirms it. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const feedback = useSignal<'copied' | 'refused' | undefined>(undefined);
  useEffect(() => {
    if (!feedback.value) return;
    const timer = setTimeout(() => {
      feedback.value = undefined;
    }, 2_000);
    return () => clearTimeout(timer);
  }, [feedback.value]);
  const copy = async () => {
    feedback.value = (await copied(text())) ? 'copied' : 'refused';
  };
  return (
    <Button kind="quiet" icon="copy" onClick={copy}>
      <span aria-live="polite">
        {feedback.value === 'copied' ? 'Copied' : feedback.value === 'refused' ? 'Could not copy' : label}
      </span>
    </Button>
  );
}

/** Pages without HTTPS have no clipboard API: there the text is selected and copied. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.className = 'visually-hidden';
    const focused = document.activeElement;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand('copy');
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
    return isDone;
  }
}
