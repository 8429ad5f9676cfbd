/** The desk that a command line names, of a store that is opened here or of a server elsewhere, and who stands at it. */

import type { OperatorApi } from '../../operator/api.ts';
import { runtime } from '../../runtime/runtime.ts';
import { storePlace } from '../store-url.ts';
import { type Arguments, WrongUsage } from '../usage.ts';
import { type Look, sightOf } from './drawing-style.ts';
import { deskOverHttp, serverAddress } from './operator-over-http.ts';
import type { operatorOptions } from './options.ts';

export interface OpenDesk extends AsyncDisposable {
  readonly desk: OperatorApi;
  /** For people. */
  readonly name: string;
  /** The options that lead here again, without anything secret. */
  readonly place: string;
  /** Whether values are hidden because nobody here knows what is secret. */
  readonly hides: boolean;
}

export type OperatorValues = Arguments<typeof operatorOptions>['values'];

export type At = Awaited<ReturnType<typeof standAt>>;

/** In a pipe drawings are as wide as a page. */
const pageColumns = 100;

/** At which desk a command of an operator works, with which options, and what its user sees. */
export async function standAt(opened: OpenDesk, values: OperatorValues, isLive: boolean) {
  const about = await opened.desk.about();
  const begun = runtime.now();
  const sight = sightOf(values);
  let isSaid = false;
  /** By the desk's own clock. A drawing that is drawn once is of one moment. */
  const now = () => (isLive ? about.now + runtime.now() - begun : about.now);
  /** Of a drawing this wide; by default as wide as the terminal, or as a page in a pipe. */
  const look = (columns = sight.columns ?? pageColumns): Look => ({
    columns,
    paint: sight.paint,
    now: now(),
    isFull: values.full ?? false,
    place: opened.place,
  });
  /** On stderr, and once, where values would have been shown. */
  const sayWhatIsHidden = () => {
    if (opened.hides && !isSaid)
      console.error(
        'Values are hidden: only a server that has the tools knows what is secret in them. --reveal shows everything.',
      );
    isSaid = true;
  };
  const name = opened.hides ? `${opened.name} (values hidden)` : opened.name;
  return { ...opened, name, sight, values, now, look, sayWhatIsHidden };
}

export async function openDesk({ store, url, token, reveal }: OperatorValues): Promise<OpenDesk> {
  if (store !== undefined && url !== undefined) throw new WrongUsage('give --store or --url, not both');
  if (url !== undefined) {
    if (reveal) throw new WrongUsage('--reveal is for --store: with --url the server knows what is secret');
    return elsewhere(url, token);
  }
  if (token !== undefined) throw new WrongUsage('--token is for --url');
  if (store === undefined) throw new WrongUsage('give --store or --url');
  const { deskOfStore } = await import('./operator-of-store.ts');
  return deskOfStore(storePlace(store), reveal ?? false);
}

function elsewhere(url: string, token: string | undefined): OpenDesk {
  const { base, token: tokenInUrl } = serverAddress(url);
  const given = (token ?? tokenInUrl ?? process.env.HOLDFAST_OPERATOR_TOKEN)?.trim();
  if (given && !/^[\x20-\x7e]+$/.test(given))
    throw new WrongUsage(
      'the token has characters that cannot be sent: see that all of it was copied, and nothing else',
    );
  const desk = deskOverHttp({ base, token: given || undefined });
  return {
    desk,
    name: base,
    place: `--url ${base}`,
    hides: false,
    [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose](),
  };
}
