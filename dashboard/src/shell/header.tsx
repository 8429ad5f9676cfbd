import { ownerName } from '../format.ts';
import { Icon } from '../parts/icons.tsx';
import { everything, href, route } from '../router.ts';
import { signOut } from '../session.ts';
import { about } from './about.ts';
import { nextScheme, scheme } from './colours.ts';
import { ConnectionState } from './connection.tsx';
import { helpIsOpen } from './keyboard-help.tsx';

const schemeIcons = { system: 'device', light: 'sun', dark: 'moon' } as const;

export function Header() {
  const { view } = route.value;
  const owner = about.value?.owner;
  return (
    <header class="header">
      <div class="header-inner">
        <a class="brand" href="./" aria-label="Holdfast, overview">
          <Icon name="anchor" />
          <span>Holdfast</span>
        </a>
        <nav class="nav" aria-label="Pages">
          <a
            href={href({ view: 'overview', window: '1h' })}
            aria-current={view === 'overview' ? 'page' : undefined}
          >
            Overview
          </a>
          <a
            href={href({ view: 'tasks', filter: everything })}
            aria-current={view === 'tasks' ? 'page' : view === 'task' ? 'true' : undefined}
          >
            Tasks
          </a>
        </nav>
        {owner !== undefined && (
          <span class="header-owner" title={`Shows only the tasks of ${owner}`}>
            {ownerName(owner)}
          </span>
        )}
        <div class="header-tools">
          <ConnectionState />
          <button
            type="button"
            class="icon-button wide-only"
            onClick={() => (helpIsOpen.value = true)}
            title="Keys (?)"
          >
            <Icon name="keyboard" />
            <span class="visually-hidden">Keys</span>
          </button>
          <button
            type="button"
            class="icon-button"
            onClick={() => (scheme.value = nextScheme())}
            title={`Colours: ${scheme.value}`}
          >
            <Icon name={schemeIcons[scheme.value]} />
            <span class="visually-hidden">
              Colours: {scheme.value}. Change to {nextScheme()}
            </span>
          </button>
          <button type="button" class="icon-button" onClick={() => signOut()} title="Sign out">
            <Icon name="leave" />
            <span class="visually-hidden">Sign out</span>
          </button>
        </div>
      </div>
    </header>
  );
}
