/**
 * The timeline as a drawing. A row has a button that opens its details, and a track with bars. Only one row at a time
 * is in the tab order; arrows move between rows. Positions are percentages, so that the browser does the layout.
 */
import { useSignal } from '@preact/signals';
import { Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { duration, plural, roughly } from '../format.ts';
import { Icon, type IconName } from '../parts/icons.tsx';
import { href } from '../router.ts';
import { type Fold, folded, type Item } from './folding.ts';
import { RowDetails } from './row-details.tsx';
import type { Axis } from './time-axis.ts';
import { listen, type Tip } from './timeline-input.ts';
import type { Bar, Crash, Row, RowKind, Timeline } from './timeline-layout.ts';
import { barSentence, nameOf, notRepeated, rowSentence, tookWords } from './words.ts';

const icons: Readonly<Record<RowKind, IconName>> = {
  process: 'process',
  step: 'step',
  question: 'waiting',
  timer: 'timer',
  event: 'signal',
  subtask: 'subtask',
};

/** With more rows than this, the browser skips the layout of those out of sight. */
const manyRows = 60;

/** The opened rows; kept by the page, so that they survive every rendering. */
export interface Opened {
  readonly rows: ReadonlySet<string>;
  toggle(id: string): void;
}

export function TimelineDrawing({ timeline, opened }: { timeline: Timeline; opened: Opened }) {
  const { axis, crashes, rows } = timeline;
  const items = folded(rows, opened.rows);
  const current = useSignal<string | undefined>(undefined);
  const tip = useSignal<Tip | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  const toggle = useRef(opened.toggle);
  toggle.current = opened.toggle;
  useEffect(() => {
    const element = box.current!;
    return listen(element, {
      show: (next) => {
        const { row, bar } = tip.peek() ?? {};
        if (row !== next?.row || bar !== next?.bar) tip.value = next;
      },
      toggle: (id) => toggle.current(id),
      focus: (id) => {
        current.value = id;
      },
    });
  }, []);
  const ids = items.map(idOf);
  const reachable = current.value && ids.includes(current.value) ? current.value : ids[0];
  return (
    <div class="drawing" ref={box}>
      <div class="lane-axis" aria-hidden="true">
        <div class="track">
          {axis.ticks.map(({ at, place, label, isMinor }) => (
            <span
              key={at}
              class={`tick${isMinor ? ' tick-minor' : ''}${place > 0.94 ? ' tick-last' : ''}`}
              style={{ left: percent(place) }}
            >
              {label}
            </span>
          ))}
        </div>
      </div>
      <div class="grid-lines" aria-hidden="true">
        <div class="track">
          {axis.ticks.map(({ at, place }) => (
            <span key={at} class="grid-line" style={{ left: percent(place) }} />
          ))}
          {axis.breaks.map((pause) => (
            <span
              key={pause.from}
              class="pause-strip"
              style={{ left: percent(pause.left), width: percent(pause.right - pause.left) }}
            >
              <span>{roughly(pause.to - pause.from)}</span>
            </span>
          ))}
          {crashes.map((crash) => (
            <span key={crash.pass} class="crash-line" style={{ left: percent(axis.place(crash.at)) }} />
          ))}
        </div>
      </div>
      <ul
        class={items.length > manyRows ? 'lanes lanes-many' : 'lanes'}
        aria-label="History, in order of start"
      >
        {items.map((item) => {
          const id = idOf(item);
          const tabIndex = id === reachable ? 0 : -1;
          if ('fold' in item) return <FoldLine key={id} fold={item.fold} axis={axis} tabIndex={tabIndex} />;
          const { row } = item;
          return (
            <RowLine
              key={id}
              row={row}
              timeline={timeline}
              tabIndex={tabIndex}
              isOpen={opened.rows.has(id)}
              tip={tip.value?.row === id ? tip.value : undefined}
            />
          );
        })}
      </ul>
    </div>
  );
}

interface RowLineProps {
  readonly row: Row;
  readonly timeline: Timeline;
  readonly tabIndex: number;
  readonly isOpen: boolean;
  readonly tip: Tip | undefined;
}

function RowLine({ row, timeline, tabIndex, isOpen, tip }: RowLineProps) {
  const { axis, crashes, to: end } = timeline;
  return (
    <li class="lane" data-row={row.id} data-kind={row.kind} data-state={row.state}>
      <div class="lane-line">
        <button
          type="button"
          class="lane-name"
          tabIndex={tabIndex}
          aria-expanded={isOpen}
          aria-label={rowSentence(row, end)}
        >
          <Icon name={icons[row.kind]} />
          <span class="lane-label" title={row.label}>
            {nameOf(row)}
          </span>
        </button>
        <span class="lane-took" aria-hidden="true">
          {tookWords(row, end)}
        </span>
        <div class="track">
          {row.bars.map((bar, i) => (
            <BarView key={i} bar={bar} index={i} axis={axis} childId={row.childId} label={row.label} />
          ))}
          {row.kind === 'process' && <Flags row={row} axis={axis} crashes={crashes} />}
          {tip && !isOpen && <TipView row={row} bar={row.bars[tip.bar ?? 0]} axis={axis} end={end} />}
        </div>
      </div>
      {isOpen && <RowDetails row={row} />}
    </li>
  );
}

interface BarProps {
  readonly bar: Bar;
  readonly index: number;
  readonly axis: Axis;
  readonly childId: string | undefined;
  readonly label: string;
}

function BarView({ bar, index, axis, childId, label }: BarProps) {
  const left = axis.place(bar.from);
  const width = axis.place(bar.to) - left;
  const shared = {
    class: `bar bar-${bar.look}${bar.isOpen ? ' bar-open' : ''}`,
    'data-bar': index,
    style: { left: percent(left), width: `max(${percent(width)}, 3px)` },
  };
  if (childId === undefined) return <span {...shared} />;
  // Keyboard users find the same link in the details of the row.
  return (
    <a {...shared} href={href({ view: 'task', id: childId })} tabIndex={-1} aria-label={`Open ${label}`} />
  );
}

/** Marks where this process died, and where it took over from another one. */
function Flags({ row, axis, crashes }: { row: Row; axis: Axis; crashes: readonly Crash[] }) {
  const own = new Set(row.passes!.map(({ number }) => number));
  // Many labels would overlap; the notes above the drawing have the same information.
  const isCrowded = crashes.length > 3;
  return (
    <>
      {crashes.map((crash) => {
        const died = own.has(crash.pass) && axis.place(crash.at);
        const resumed =
          own.has(crash.pass + 1) && crash.resumedAt !== undefined && axis.place(crash.resumedAt);
        return (
          <Fragment key={crash.pass}>
            {died !== false && (
              <span
                class="flag flag-died"
                data-side={died > 0.6 ? 'before' : 'after'}
                style={{ '--at': percent(died) }}
              >
                <Icon name="torn" />
                {!isCrowded && 'process died'}
              </span>
            )}
            {resumed !== false && !isCrowded && (
              <span
                class="flag flag-resumed"
                data-side={resumed > 0.4 ? 'before' : 'after'}
                style={{ '--at': percent(resumed) }}
              >
                <span>
                  resumed<span class="flag-more">, {notRepeated(crash.replayed ?? 0)}</span>
                </span>
              </span>
            )}
          </Fragment>
        );
      })}
    </>
  );
}

function TipView({ row, bar, axis, end }: { row: Row; bar: Bar | undefined; axis: Axis; end: number }) {
  if (!bar) return null;
  const place = axis.place(bar.from);
  const took = duration(bar.to - bar.from);
  const error = row.call?.error;
  return (
    <span
      class="tip"
      aria-hidden="true"
      data-side={place > 0.5 ? 'left' : 'right'}
      style={{ left: percent(place) }}
    >
      <strong>{nameOf(row)}</strong>
      <span>
        {barSentence(row, bar)} · {took}
        {row.bars.length > 1 && row.kind !== 'process' ? ` of ${tookWords(row, end)}` : ''}
      </span>
      <span class="muted">
        {duration(bar.from - axis.from)} after the start
        {row.call && row.call.attempts.length > 0
          ? ` · ${plural(row.call.attempts.length, 'failed attempt')}`
          : ''}
      </span>
      {error && <span class="trouble-text">{error}</span>}
    </span>
  );
}

function FoldLine({ fold, axis, tabIndex }: { fold: Fold; axis: Axis; tabIndex: number }) {
  const from = Math.min(...fold.rows.map((row) => row.from));
  const to = Math.max(...fold.rows.map((row) => row.to ?? axis.to));
  const left = axis.place(from);
  return (
    <li class="lane lane-fold" data-row={fold.id}>
      <div class="lane-line">
        <button
          type="button"
          class="lane-name"
          tabIndex={tabIndex}
          aria-expanded={fold.isOpen}
          aria-label={`${fold.rows.length} succeeded, ${duration(to - from)}`}
        >
          <Icon name="chevron" />
          <span class="lane-label">{fold.rows.length} succeeded</span>
        </button>
        <span class="lane-took" aria-hidden="true">
          {duration(to - from)}
        </span>
        <div class="track">
          <span
            class="bar bar-fold"
            style={{ left: percent(left), width: `max(${percent(axis.place(to) - left)}, 3px)` }}
          />
        </div>
      </div>
    </li>
  );
}

function idOf(item: Item): string {
  return 'row' in item ? item.row.id : item.fold.id;
}

function percent(place: number): string {
  return `${(place * 100).toFixed(3)}%`;
}
