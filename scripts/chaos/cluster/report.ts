/** What a run on a cluster came to, in numbers. */
export interface ClusterReport {
  readonly seed: number;
  readonly kills: number;
  readonly errands: number;
  /** Errands and their subtasks. */
  readonly tasks: number;
  readonly steps: number;
  readonly attemptsInVain: number;
  /** Lines of the history. */
  readonly entries: number;
  readonly restarts: number;
  /** Connections to the database that were cut. */
  readonly cuts: number;
  readonly stops: number;
  readonly takeOvers: number;
  readonly undisturbedTakeOvers: number;
  readonly longestTakeOverMs: number;
  readonly longestTakeOverFromStoppedMs: number;
  /** Whatever else befell the cluster in between. */
  readonly longestDisturbedTakeOverMs: number;
  /** Passes that found another worker in their place and could commit no more, as the logs of the workers tell. */
  readonly superseded: number;
  readonly seconds: number;
  readonly lost: number;
  readonly repeatedSteps: number;
  readonly brokenInvariants: number;
  readonly problems: readonly string[];
}
