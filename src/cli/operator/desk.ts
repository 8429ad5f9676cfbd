/** The desk that a command line names: of a store that is opened here, or of a server elsewhere. */

import type { OperatorDesk } from '../../operator/api.ts';
import { storePlace } from '../store-url.ts';
import { type Arguments, WrongUsage } from '../usage.ts';
import { DeskOverHttp, serverAddress } from './desk-over-http.ts';
import type { Drawn } from './draw-story.ts';
import type { Sight } from './look.ts';
import type { operatorOptions } from './options.ts';

export interface OpenDesk extends AsyncDisposable {
  readonly desk: OperatorDesk;
  /** For people. */
  readonly name: string;
  /** The options that lead here again, without anything secret. */
  readonly place: string;
  /** Whether values are hidden because nobody here knows what is secret. */
  readonly hides: boolean;
}

export async function openDesk({ store, url, token, reveal }: OperatorValues): Promise<OpenDesk> {
  if (store !== undefined && url !== undefined) throw new WrongUsage('give --store or --url, not both');
  if (url !== undefined) {
    if (reveal) throw new WrongUsage('--reveal is for --store: with --url the server knows what is secret');
    return elsewhere(url, token);
  }
  if (token !== undefined) throw new WrongUsage('--token is for --url');
  if (store === undefined) throw new WrongUsage('give --store or --url');
  const { deskOfStore } = await import('./desk-of-store.ts');
  return deskOfStore(storePlace(store), reveal ?? false);
}

function elsewhere(url: string, token: string | undefined): OpenDesk {
  const address = serverAddress(url);
  const given = (token ?? address.token ?? process.env.HOLDFAST_OPERATOR_TOKEN)?.trim();
  if (given && !/^[\x20-\x7e]+$/.test(given))
    throw new WrongUsage(
      'the token has characters that cannot be sent: see that all of it was copied, and nothing else',
    );
  const desk = new DeskOverHttp({ ...address, token: given || undefined });
  return {
    desk,
    name: address.base,
    place: `--url ${address.base}`,
    hides: false,
    [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose](),
  };
}

// --- What a command works with -----------------------------------------------------------------------------

export type OperatorValues = Arguments<typeof operatorOptions>['values'];

/** At which desk a command of an operator works, with which options, and what its user sees. */
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
