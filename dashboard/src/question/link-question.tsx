/** A question that is answered on another site. The full address is shown before the user opens it. */
import { useSignal } from '@preact/signals';
import { safePage } from '../content/links.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icons.tsx';
import { type Send, useSending } from './sending.ts';

export function LinkQuestion({ url, send }: { url: string; send: Send }) {
  const wasOpened = useSignal(false);
  const sending = useSending(send);
  const page = safePage(url);
  const press = (action: 'accept' | 'decline' | 'cancel') => () => sending.send(action, { action });
  return (
    <div class="form">
      <div class="address">
        <p>
          Opens <strong>{page ? page.host : 'an address that is not a web page'}</strong>
          {page?.protocol === 'http:' && ', without encryption'}
        </p>
        <p class="mono address-full">{page ? page.href : url}</p>
        {page ? (
          <a
            class="button button-primary"
            href={page.href}
            target="_blank"
            rel="noopener noreferrer nofollow"
            onClick={() => {
              wasOpened.value = true;
            }}
          >
            <Icon name="link" />
            Open {page.host}
          </a>
        ) : (
          <p class="form-error">Only http and https addresses can be opened from here.</p>
        )}
      </div>
      {sending.error.value && (
        <p class="form-error" role="alert">
          {sending.error.value}
        </p>
      )}
      <div class="form-actions">
        <Button
          kind={wasOpened.value ? 'primary' : 'plain'}
          busy={sending.busy.value === 'accept'}
          onClick={press('accept')}
        >
          Done
        </Button>
        <Button busy={sending.busy.value === 'decline'} onClick={press('decline')}>
          Decline
        </Button>
        <Button kind="quiet" busy={sending.busy.value === 'cancel'} onClick={press('cancel')}>
          Dismiss
        </Button>
      </div>
    </div>
  );
}
