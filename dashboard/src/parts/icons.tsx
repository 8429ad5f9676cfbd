/** Icons of 16 by 16 with one line width, in the colour of the adjacent text. An icon never appears without a text. */
import type { ComponentChildren } from 'preact';
import type { TaskStatus } from '../../../src/model/status.ts';

const paths = {
  queued: <path d="M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5M8 4.5V8l2.4 1.5" />,
  running: <path d="M14.25 8A6.25 6.25 0 1 1 8 1.75M6.75 5.6v4.8L10.6 8z" />,
  waiting: <path d="M2 2.75h12v8H8.5L5.25 13.5v-2.75H2zM8 4.9v2.2M8 8.75v.05" />,
  completed: <path d="M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5M5.2 8.2l2 2 3.7-4.1" />,
  failed: (
    <path d="M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5M5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2" />
  ),
  cancelled: <path d="M8 1.75a6.25 6.25 0 1 0 0 12.5 6.25 6.25 0 0 0 0-12.5M5 8h6" />,
  lost: <path d="M8 1.75 14.5 13.5h-13zM6.7 6.6a1.35 1.35 0 1 1 1.9 1.3c-.4.2-.6.4-.6.8v.3M8 11.2v.05" />,
  warning: <path d="M8 1.9 14.6 13.6H1.4zM8 6.2v3.3M8 11.5v.05" />,
  search: <path d="M7 2.25a4.75 4.75 0 1 0 0 9.5 4.75 4.75 0 0 0 0-9.5M10.5 10.5l3.5 3.5" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  sun: (
    <path d="M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.2v1.3M8 13.5v1.3M1.2 8h1.3M13.5 8h1.3M3.2 3.2l.9.9M11.9 11.9l.9.9M3.2 12.8l.9-.9M11.9 4.1l.9-.9" />
  ),
  moon: <path d="M13.4 9.6A5.75 5.75 0 0 1 6.4 2.6a5.75 5.75 0 1 0 7 7" />,
  device: <path d="M2 3h12v8H2zM6 13.5h4M8 11v2.5" />,
  keyboard: <path d="M1.5 4h13v8h-13zM4 6.5h.1M6.6 6.5h.1M9.3 6.5h.1M12 6.5h.1M5 9.5h6" />,
  copy: <path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />,
  lock: <path d="M3.5 7h9v6.5h-9zM5.5 7V4.75a2.5 2.5 0 0 1 5 0V7" />,
  file: <path d="M3.5 1.75h5.75L12.5 5v9.25h-9zM9 1.75V5.2h3.5" />,
  step: <path d="M2.5 8h8M7.5 4.5 11 8l-3.5 3.5M13.5 3.5v9" />,
  timer: <path d="M8 3.25a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 6v3M6.25 1.5h3.5" />,
  signal: <path d="M8 8v6M5.5 10.5a3.5 3.5 0 1 1 5 0M3.5 12.5a6.3 6.3 0 1 1 9 0" />,
  subtask: <path d="M3.5 2v6.5a2 2 0 0 0 2 2H12M9.5 8l2.5 2.5L9.5 13" />,
  process: (
    <path d="M4 4h8v8H4zM6.5 1.75V4M9.5 1.75V4M6.5 12v2.25M9.5 12v2.25M1.75 6.5H4M1.75 9.5H4M12 6.5h2.25M12 9.5h2.25" />
  ),
  again: <path d="M13.5 8A5.5 5.5 0 1 1 11.6 3.85M13.5 1.75v3h-3" />,
  stop: <path d="M4 4h8v8H4z" />,
  bin: <path d="M2.5 4.25h11M6 4.25v-2h4v2M4 4.25l.6 9.5h6.8l.6-9.5M6.75 7v4M9.25 7v4" />,
  torn: <path d="m9 1.75-4.5 7h3l-1.5 5.5 5.5-7.5h-3z" />,
  chevron: <path d="m6 4 4 4-4 4" />,
  link: (
    <path d="M6.6 9.4a2.6 2.6 0 0 0 3.7 0l2.3-2.3a2.6 2.6 0 0 0-3.7-3.7l-.9.9M9.4 6.6a2.6 2.6 0 0 0-3.7 0L3.4 8.9a2.6 2.6 0 0 0 3.7 3.7l.9-.9" />
  ),
  up: <path d="M8 13V3.5M3.75 7.5 8 3.25l4.25 4.25" />,
  back: <path d="M13 8H3.5M7.5 3.75 3.25 8l4.25 4.25" />,
  leave: <path d="M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6" />,
  anchor: (
    <path d="M8 4.8v9.4M8 1.6a1.6 1.6 0 1 0 0 3.2 1.6 1.6 0 0 0 0-3.2M5.2 7h5.6M2 9.2c.4 3 2.7 5 6 5s5.6-2 6-5" />
  ),
} satisfies Record<TaskStatus | (string & {}), ComponentChildren>;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {paths[name]}
    </svg>
  );
}
