/** The overview: what runs, what waits for a person, what fails, throughput and durations. */
import { useEffect } from 'preact/hooks';
import type { TaskStatus } from '../../../src/model/status.ts';
import type { OverviewReport } from '../../../src/operator/api.ts';
import { Offline, sentenceOf } from '../errors.ts';
import { count, duration } from '../format.ts';
import { Icon, type IconName } from '../parts/icons.tsx';
import { Empty, Failure, Loading } from '../parts/states.tsx';
import { Ago } from '../parts/time.tsx';
import { everything, href, type Span, spans } from '../router.ts';
import { DurationsChart, ThroughputChart } from './charts.tsx';
import './overview.css';
import { useReport } from './report.ts';
import { ShortList } from './short-list.tsx';
import { ToolTable } from './tool-table.tsx';

export function OverviewPage({ window }: { window: Span }) {
  const { report, error, retry } = useReport(window);
  useEffect(() => {
    document.title = 'Overview – Holdfast';
  }, []);
  return (
    <>
      <div class="page-head">
        <h1 tabIndex={-1}>Overview</h1>
        <WindowChoice chosen={window} />
      </div>
      {report.value && error.value !== undefined && !(error.value instanceof Offline) && (
        <p class="problem" role="alert">
          <Icon name="warning" />
          This may be out of date: {sentenceOf(error.value)}
        </p>
      )}
      {report.value ? (
        <Report report={report.value} window={window} />
      ) : error.value !== undefined ? (
        <div class="card">
          <Failure error={error.value} onRetry={retry} />
        </div>
      ) : (
        <div class="card">
          <Loading label="Loading the overview" lines={8} />
        </div>
      )}
    </>
  );
}

function WindowChoice({ chosen }: { chosen: Span }) {
  return (
    <nav class="segments" aria-label="Time range">
      {(Object.keys(spans) as Span[]).map((span) => (
        <a
          key={span}
          href={href({ view: 'overview', window: span })}
          aria-current={span === chosen ? 'true' : undefined}
        >
          <span class="visually-hidden">Last </span>
          {spans[span].short}
        </a>
      ))}
    </nav>
  );
}

function Report({ report, window }: { report: OverviewReport; window: Span }) {
  const { live, ended, tools } = report;
  const total = live.queued + live.running + live.waiting;
  if (tools.length === 0 && total === 0) return <Nothing window={window} />;
  return (
    <div class="overview">
      <section class="figures" aria-label="Now">
        <Figure statuses={['running']} value={live.running} name="Running" icon="running" />
        <Figure statuses={['waiting']} value={live.waiting} name="Waiting for a person" icon="waiting" />
        <Figure
          statuses={['failed', 'lost']}
          value={ended.failed + ended.lost}
          name="Failed"
          icon="failed"
          note={`in the last ${spans[window].name}`}
        />
        <Figure
          statuses={['queued']}
          value={live.queued}
          name="Queued"
          icon="queued"
          note={
            report.readySince === null ? (
              'no task is waiting for a worker'
            ) : (
              <>
                oldest ready <Ago at={report.readySince} />
              </>
            )
          }
        />
      </section>
      <section class="card chart-card" aria-labelledby="throughput-title">
        <div class="card-head">
          <h2 id="throughput-title">Finished tasks</h2>
          <p class="card-note number">
            {count(ended.completed + ended.failed + ended.cancelled + ended.lost)} in the last{' '}
            {spans[window].name}
          </p>
        </div>
        <ThroughputChart report={report} />
      </section>
      <section class="card chart-card" aria-labelledby="durations-title">
        <div class="card-head">
          <h2 id="durations-title">Durations</h2>
          <p class="card-note number">
            {ended.medianMs === null
              ? 'none finished'
              : `median ${duration(ended.medianMs)}, 95th percentile ${duration(ended.p95Ms ?? ended.medianMs)}`}
          </p>
        </div>
        <DurationsChart report={report} />
      </section>
      <ShortList
        title="Waiting for a person"
        tasks={report.waiting}
        more={{ ...everything, statuses: ['waiting'] }}
        empty="No task is waiting for a person."
      />
      <ShortList
        title="Failed"
        tasks={report.failing}
        more={{ ...everything, statuses: ['failed', 'lost'] }}
        empty="No task failed."
      />
      <ToolTable tools={tools} window={window} />
    </div>
  );
}

function Nothing({ window }: { window: Span }) {
  return (
    <div class="card">
      <Empty title={`No tasks in the last ${spans[window].name}`}>
        <p>When a durable tool is called, its task appears here automatically.</p>
        <p>
          <a href={href({ view: 'tasks', filter: everything })}>Show all tasks</a>
        </p>
      </Empty>
    </div>
  );
}

interface FigureProps {
  readonly statuses: readonly TaskStatus[];
  readonly value: number;
  readonly name: string;
  readonly icon: IconName;
  readonly note?: preact.ComponentChildren;
}

function Figure({ statuses, value, name, icon, note = 'now' }: FigureProps) {
  return (
    <a
      class="card figure"
      data-status={statuses[0]}
      data-quiet={value === 0 ? '' : undefined}
      href={href({ view: 'tasks', filter: { ...everything, statuses } })}
    >
      <span class="figure-name">
        <Icon name={icon} />
        {name}
      </span>
      <span class="figure-value number">{count(value)}</span>
      <span class="figure-note">{note}</span>
    </a>
  );
}
