/** A problem in a sentence, with its kind. */
export interface Problem {
  /** `lost`: a task or part of its work is missing; `repeated`: a step ran again that must not; `broken`: the rest. */
  readonly kind: 'lost' | 'repeated' | 'broken';
  /** The affected task, if any. */
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

export function problemText({ task, text }: Problem): string {
  return task === undefined ? text : `${task}: ${text}`;
}
