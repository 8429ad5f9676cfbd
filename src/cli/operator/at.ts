/** Where a command of an operator stands: at which desk, with which options, and before whose eyes. */
import type { OperatorDesk } from '../../operator/api.ts';
import type { Arguments } from '../usage.ts';
import type { Drawn } from './draw-story.ts';
import type { Sight } from './look.ts';
import type { operatorOptions } from './options.ts';

export type OperatorValues = Arguments<typeof operatorOptions>['values'];

export interface At {
  readonly desk: OperatorDesk;
  readonly sight: Sight;
  readonly values: OperatorValues;
  /** The name of the place, for people. */
  readonly name: string;
  /** The options that lead here again, without anything secret. */
  readonly place: string;
  /** By the desk's own clock. */
  now(): number;
  /** Of a drawing this wide; by default as wide as the terminal, or as a page in a pipe. */
  look(columns?: number): Drawn;
  /** On stderr, and once, where values would have been shown. */
  sayWhatIsHidden(): void;
}
