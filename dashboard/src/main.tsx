// The general styles come first, so that those of pages can differ.
import './theme.css';
import './parts/parts.css';
import './shell/shell.css';

import { render } from 'preact';
import { App } from './app.tsx';
import { startClock } from './clock.ts';
import { startKeys } from './keys.ts';
import { startRouter } from './router.ts';
import { beginSession } from './session.ts';
import { startColours } from './shell/colours.ts';

beginSession();
startColours();
startRouter();
startKeys();
startClock();
render(<App />, document.getElementById('app')!);
