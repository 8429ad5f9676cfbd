/** What went wrong, in a sentence, and under which of the three counts it falls. */
export interface Problem {
  /** `lost`: a task or a part of its work is missing; `repeated`: a step ran that must not; `broken`: all else. */
  readonly kind: 'lost' | 'repeated' | 'broken';
  /** The task it is about, if it is about one. */
  readonly task?: string;
  readonly text: string;
}

export interface Counts {
  /** Tasks. */
  readonly lost: number;
  /** Steps. */
  readonly repeated: number;
  readonly broken: number;
}

export function counts(problems: readonly Problem[]): Counts {
  const of = (kind: Problem['kind']) => problems.filter((problem) => problem.kind === kind);
  return {
    lost: new Set(of('lost').map(({ task, text }) => task ?? text)).size,
    repeated: of('repeated').length,
    broken: of('broken').length,
  };
}

export function told({ task, text }: Problem): string {
  return task === undefined ? text : `${task}: ${text}`;
}
