/** The connection state: always as a word in the header, and as a banner after a longer disconnect. */
import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import { moment, roughly } from '../format.ts';
import { connection, lastReceivedAt, reconnect } from '../live.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icons.tsx';

const words = { connecting: 'Connecting', live: 'Live', offline: 'Offline' } as const;

export function ConnectionState() {
  const { state } = connection.value;
  return (
    <span class="connection" data-state={state} role="status">
      <span class="connection-dot" aria-hidden="true" />
      <span class="connection-word">{words[state]}</span>
    </span>
  );
}

/** Shorter disconnects show no banner. */
const graceMs = 700;

export function ConnectionBanner() {
  const isShown = useSignal(false);
  useSignalEffect(() => {
    if (connection.value.state === 'live') {
      isShown.value = false;
      return;
    }
    if (connection.value.state === 'connecting') return;
    const timer = setTimeout(() => {
      isShown.value = true;
    }, graceMs);
    return () => clearTimeout(timer);
  });
  const browserNow = useSignal(Date.now());
  useSignalEffect(() => {
    if (!isShown.value) return;
    browserNow.value = Date.now();
    const timer = setInterval(() => {
      browserNow.value = Date.now();
    }, 1_000);
    return () => clearInterval(timer);
  });
  const countdown = useComputed(() => {
    if (connection.value.state !== 'offline') return 'Trying again …';
    const ms = connection.value.retryAt - browserNow.value;
    return ms < 1_000 ? 'Trying again …' : `Next attempt in ${roughly(ms + 999)}`;
  });
  if (!isShown.value) return null;
  const state = connection.value;
  return (
    <div class="banner">
      <Icon name="warning" />
      <p>
        <strong>{(state.state === 'offline' && state.because) || 'The server does not answer.'}</strong>{' '}
        {lastReceivedAt.value === undefined
          ? 'It has not answered yet.'
          : `Last contact at ${moment(lastReceivedAt.value, Date.now())}; the page shows the data from then.`}{' '}
        <span class="banner-quiet number">{countdown}</span>
      </p>
      <Button onClick={reconnect}>Retry now</Button>
    </div>
  );
}
