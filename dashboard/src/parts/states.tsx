/** Placeholders: nothing to show, still loading, failed. */
import type { ComponentChildren } from 'preact';
import { Offline, sentenceOf } from '../errors.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icons.tsx';

interface StateProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
}

/** There is nothing to show, and that is not an error. */
export function Empty({ title, children, icon = 'anchor' }: StateProps) {
  return (
    <div class="state">
      <Icon name={icon} />
      <p class="state-title">{title}</p>
      {children && <div class="state-text">{children}</div>}
    </div>
  );
}

/** The first answer is loading. Lines of the expected height keep the page from jumping. */
export function Loading({ label = 'Loading', lines = 3 }: { label?: string; lines?: number }) {
  return (
    <div class="loading" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <span class="loading-line" key={index} />
      ))}
    </div>
  );
}

/** Shows an error and a button to try again. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const isOffline = error instanceof Offline;
  return (
    <div class="state" role="alert">
      <Icon name="warning" />
      <p class="state-title">{isOffline ? 'The server does not answer' : 'Something went wrong'}</p>
      <div class="state-text">
        {isOffline ? 'This page resumes automatically when the server is back.' : sentenceOf(error)}
      </div>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}
