/** Who looks on: somebody at a terminal, the reader of a log, or a program. */
import { ReadStream, WriteStream } from 'node:tty';
import type { Visit } from './attend.ts';
import { paintWith, wantsColours } from './colours.ts';
import { JsonView } from './json-view.ts';
import { PlainView } from './plain-view.ts';
import { TerminalView } from './terminal-view.ts';

/** Options that all have who look on. */
export const viewOptions = {
  json: { type: 'boolean' },
  'no-color': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** What happens is told on stderr, so that stdout has the result and nothing else. */
export function lookOn(values: {
  readonly json?: boolean;
  readonly 'no-color'?: boolean;
}): Pick<Visit, 'view' | 'desk'> {
  if (values.json) return { view: new JsonView(), desk: undefined };
  const { stdin, stderr } = process;
  if (!(stderr instanceof WriteStream) || process.env.TERM === 'dumb')
    return { view: new PlainView(), desk: undefined };
  const paint = paintWith(wantsColours(values['no-color'] ?? false));
  const input = stdin instanceof ReadStream ? stdin : undefined;
  return {
    view: new TerminalView(stderr, paint),
    desk: input && { input, output: stderr, paint },
  };
}
