import type { Progress } from '../../../src/model/task.ts';
import { compact } from '../format.ts';

/** The progress of a task. Without a total it shows only the amount done, not a bar. */
export function ProgressBar({ progress, label = 'Progress' }: { progress: Progress; label?: string }) {
  const { done, total } = progress;
  if (!total || total <= 0) return <span class="progress-text">{compact(done)} done</span>;
  const part = Math.max(0, Math.min(1, done / total));
  const percent = Math.round(part * 100);
  return (
    <span
      class="progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-valuetext={`${done} of ${total}${progress.message ? `: ${progress.message}` : ''}`}
    >
      <span class="progress-track">
        <span class="progress-fill" style={{ transform: `scaleX(${part})` }} />
      </span>
      <span class="progress-text">{percent}%</span>
    </span>
  );
}
