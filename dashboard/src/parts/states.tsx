/** What a place shows when it has nothing else to show. */
import type { ComponentChildren } from 'preact';
import { Offline, sentenceOf } from '../errors.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icons.tsx';

interface StateProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
}

/** There is nothing here, and that is all right. */
export function Empty({ title, children, icon = 'anchor' }: StateProps) {
  return (
    <div class="state">
      <Icon name={icon} />
      <p class="state-title">{title}</p>
      {children && <div class="state-text">{children}</div>}
    </div>
  );
}

/** The first answer is on its way. Lines of the height of what will come keep the page from jumping. */
export function Loading({ label = 'Loading', lines = 3 }: { label?: string; lines?: number }) {
  return (
    <div class="loading" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <span class="loading-line" key={index} />
      ))}
    </div>
  );
}

/** Something went wrong: what, and a way to try again. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const isOffline = error instanceof Offline;
  return (
    <div class="state" role="alert">
      <Icon name="warning" />
      <p class="state-title">{isOffline ? 'The server does not answer' : 'This did not work'}</p>
      <div class="state-text">
        {isOffline ? 'As soon as it is back, this page goes on by itself.' : sentenceOf(error)}
      </div>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}
