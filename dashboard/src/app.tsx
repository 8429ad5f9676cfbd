/** The frame around every page: navigation, connection state and sign-in. */
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { About } from '../../src/operator/api.ts';
import { setClock } from './clock.ts';
import { keepFocus } from './kept-focus.ts';
import { ListPage } from './list/page.tsx';
import { connection, follow } from './live.ts';
import { OverviewPage } from './overview/page.tsx';
import { arrivals, route } from './router.ts';
import { operatorApi, token } from './session.ts';
import { about } from './shell/about.ts';
import { ConnectionBanner } from './shell/connection.tsx';
import { Header } from './shell/header.tsx';
import { KeyboardHelp } from './shell/keyboard-help.tsx';
import { SignIn } from './shell/sign-in.tsx';
import { TaskPage } from './task/page.tsx';

export function App() {
  return operatorApi.value ? <SignedIn key={token.value} /> : <SignIn />;
}

function SignedIn() {
  const main = useRef<HTMLElement>(null);
  const current = operatorApi.value!;
  useEffect(() => {
    const stop = follow(current);
    // After a reconnect the server may be a different one, with other tools and another clock.
    const stopAsking = connection.subscribe(({ state }) => {
      if (state === 'live') current.about().then(learn, () => setClock());
    });
    return () => {
      stopAsking();
      stop();
      about.value = undefined;
    };
  }, [current]);
  useEffect(() => keepFocus(main.current!), []);
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: it is a link within the page, but must not change the address. */}
      <a
        class="skip-link"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <Header />
      <ConnectionBanner />
      <main id="main" class="page" tabIndex={-1} ref={main}>
        <Page main={main} />
      </main>
      <KeyboardHelp />
    </>
  );
}

function learn(received: About): void {
  about.value = received;
  setClock(received.now);
}

function Page({ main }: { main: RefObject<HTMLElement | null> }) {
  const to = route.value;
  const place = to.view === 'task' ? to.id : to.view;
  useEffect(() => (arrivals.peek() > 0 ? focusHeading(main.current!) : undefined), [main, place]);
  if (to.view === 'task') return <TaskPage key={to.id} id={to.id} />;
  if (to.view === 'tasks') return <ListPage filter={to.filter} />;
  return <OverviewPage window={to.window} />;
}

/**
 * Focuses the heading of a new page, so that screen readers announce it and the next key starts there. A page that is
 * still loading replaces its heading later: the focus follows until the user does something.
 */
function focusHeading(main: HTMLElement): () => void {
  const focus = () => {
    const heading = main.querySelector<HTMLElement>('h1');
    if (heading) heading.tabIndex = -1;
    (heading ?? main).focus({ preventScroll: true });
  };
  const observer = new MutationObserver(() => {
    if (document.activeElement === main || document.activeElement === document.body) focus();
  });
  const leave = () => {
    observer.disconnect();
    removeEventListener('keydown', leave);
    removeEventListener('pointerdown', leave);
  };
  focus();
  observer.observe(main, { childList: true, subtree: true });
  addEventListener('keydown', leave);
  addEventListener('pointerdown', leave);
  return leave;
}
