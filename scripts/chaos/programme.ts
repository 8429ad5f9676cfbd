/** What each tool of `tools.ts` must do, defined separately from it. The checks use only this list. */

export interface Programme {
  /** Stages run one after the other. The branches of a stage run in parallel, each in its own order. */
  readonly stages: readonly (readonly (readonly string[])[])[];
  /** Steps that need several attempts, with the delay before the next one. */
  readonly attempts: Readonly<Record<string, { readonly attempts: number; readonly restMs: number }>>;
  /** Polls, whose attempts are not counted: the step that defined when they may end (`risesAt`), and the next step. */
  readonly polls: Readonly<Record<string, { readonly from: string; readonly until: string }>>;
  /** Steps whose line contains `sleeps` in milliseconds, and the step that follows after this time. */
  readonly timers: Readonly<Record<string, string>>;
  /** Steps whose line contains the received answer or event, and its key or name. */
  readonly receives: Readonly<Record<string, string>>;
  /** All questions in order. */
  readonly questions: readonly { readonly key: string; readonly state: 'answered' | 'withdrawn' }[];
  /** The step that names the subtasks, the programme of each, and the steps that received their results. */
  readonly subtasks?: {
    readonly named: string;
    readonly programmes: readonly Programme[];
    readonly returned: readonly string[];
  };
}

const nothing = { attempts: {}, polls: {}, timers: {}, receives: {}, questions: [] };

const crew: Programme = { ...nothing, stages: [[['muster', 'berth']]] };

const legWithPilot: Programme = {
  ...nothing,
  stages: [[['depart', 'arrive', 'piloted', 'log-in']]],
  timers: { depart: 'arrive' },
  receives: { piloted: 'pilot' },
  questions: [{ key: 'pilot', state: 'answered' }],
};

const legWithCrew: Programme = {
  ...nothing,
  stages: [[['depart', 'arrive', 'sign-on', 'signed-on', 'log-in']]],
  timers: { depart: 'arrive' },
  subtasks: { named: 'sign-on', programmes: [crew], returned: ['signed-on'] },
};

export const voyage: Programme = {
  stages: [
    [['chart', 'provision', 'hire']],
    [0, 1, 2, 3].map((hold) => [`load#${hold}`, `lash#${hold}`]),
    [['caulk', 'cast-off', 'sail', 'leave-given', 'embark']],
    [['land#0'], ['land#1'], ['watch#0', 'watch#1', 'watch#2'], ['heave-to', 'make-sail'], ['cleared']],
    [['sound', 'tide', 'cross-the-bar', 'raced', 'hail', 'unanswered', 'tack#0', 'tack#1']],
    [['leave-again', 'moor']],
  ],
  attempts: { caulk: { attempts: 3, restMs: 40 } },
  polls: { tide: { from: 'sound', until: 'cross-the-bar' } },
  timers: {
    'cast-off': 'sail',
    'heave-to': 'make-sail',
    hail: 'unanswered',
    'tack#0': 'tack#1',
  },
  receives: { 'leave-given': 'leave', cleared: 'cleared', 'leave-again': 'leave~2' },
  questions: [
    { key: 'leave', state: 'answered' },
    { key: 'unheard', state: 'withdrawn' },
    { key: 'leave~2', state: 'answered' },
  ],
  subtasks: { named: 'embark', programmes: [legWithPilot, legWithCrew], returned: ['land#0', 'land#1'] },
};

export function stepsOf({ stages }: Programme): string[] {
  return stages.flat(2);
}

/** All pairs of steps of which the second starts only after the first is committed. */
export function* inOrder({ stages }: Programme): Iterable<readonly [string, string]> {
  for (const [index, branches] of stages.entries()) {
    const later = stages.slice(index + 1).flat(2);
    for (const branch of branches)
      for (const [place, step] of branch.entries())
        for (const next of [...branch.slice(place + 1), ...later]) yield [step, next];
  }
}
