import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Button } from '../parts/button.tsx';

/** Copies a text, and says that it did. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const said = useSignal<'copied' | 'refused' | undefined>(undefined);
  useEffect(() => {
    if (!said.value) return;
    const timer = setTimeout(() => {
      said.value = undefined;
    }, 2_000);
    return () => clearTimeout(timer);
  }, [said.value]);
  const copy = async () => {
    said.value = (await copied(text())) ? 'copied' : 'refused';
  };
  return (
    <Button kind="quiet" icon="copy" onClick={copy}>
      <span aria-live="polite">
        {said.value === 'copied' ? 'Copied' : said.value === 'refused' ? 'Not allowed here' : label}
      </span>
    </Button>
  );
}

/** Pages that did not come over HTTPS have no clipboard of their own: there a selected text is copied. */
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
