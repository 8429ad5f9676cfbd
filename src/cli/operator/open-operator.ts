/** Opens the operator API of a store or server named on the command line. */

import type { OperatorApi } from '../../operator/api.ts';
import { runtime } from '../../runtime/runtime.ts';
import { parseStoreUrl } from '../store-url.ts';
import { type Arguments, WrongUsage } from '../usage.ts';
import { outputFor, type Style } from './drawing-style.ts';
import { operatorOverHttp, serverAddress } from './operator-over-http.ts';
import type { operatorOptions } from './options.ts';

export interface OpenOperator extends AsyncDisposable {
  readonly operator: OperatorApi;
  /** The name of the store or server, for messages. */
  readonly name: string;
  /** The options that select the same store or server again, without secrets. */
  readonly source: string;
  /** True if values are hidden, because this process does not know which fields are secret. */
  readonly hides: boolean;
}

export type OperatorValues = Arguments<typeof operatorOptions>['values'];

export type Session = Awaited<ReturnType<typeof startSession>>;

/** The width of drawings in a pipe. */
const pageColumns = 100;

/** Everything that an operator command needs. Throws if the store or server cannot be reached. */
export async function startSession(opened: OpenOperator, values: OperatorValues, isLive: boolean) {
  const about = await opened.operator.about();
  const startedAt = runtime.now();
  const output = outputFor(values);
  let isWarned = false;
  /** By the clock of the store or server. A drawing that is not live has a fixed time. */
  const now = () => (isLive ? about.now + runtime.now() - startedAt : about.now);
  /** The style for this width; by default the width of the terminal, or of a page in a pipe. */
  const style = (columns = output.columns ?? pageColumns): Style => ({
    columns,
    paint: output.paint,
    now: now(),
    isFull: values.full ?? false,
    source: opened.source,
  });
  /** Prints once, to stderr, that values are hidden. */
  const warnIfHidden = () => {
    if (opened.hides && !isWarned)
      console.error(
        'Values are hidden, because only a server with the tools knows which fields are secret. Show them with --reveal.',
      );
    isWarned = true;
  };
  const name = opened.hides ? `${opened.name} (values hidden)` : opened.name;
  return { ...opened, name, output, values, now, style, warnIfHidden };
}

export async function openOperator({ store, url, token, reveal }: OperatorValues): Promise<OpenOperator> {
  if (store !== undefined && url !== undefined)
    throw new WrongUsage('--store and --url cannot be used together');
  if (url !== undefined) {
    if (reveal)
      throw new WrongUsage('--reveal needs --store: with --url the server decides which fields are secret');
    return operatorOfServer(url, token);
  }
  if (token !== undefined) throw new WrongUsage('--token needs --url');
  if (store === undefined) throw new WrongUsage('--store or --url is required');
  const { operatorOfStore } = await import('./operator-of-store.ts');
  return operatorOfStore(parseStoreUrl(store), reveal ?? false);
}

function operatorOfServer(url: string, token: string | undefined): OpenOperator {
  const { base, token: tokenInUrl } = serverAddress(url);
  const given = (token ?? tokenInUrl ?? process.env.HOLDFAST_OPERATOR_TOKEN)?.trim();
  if (given && !/^[\x20-\x7e]+$/.test(given))
    throw new WrongUsage(
      'the token contains characters that cannot be sent: check that it was copied correctly',
    );
  const operator = operatorOverHttp({ base, token: given || undefined });
  return {
    operator,
    name: base,
    source: `--url ${base}`,
    hides: false,
    [Symbol.asyncDispose]: () => operator[Symbol.asyncDispose](),
  };
}
