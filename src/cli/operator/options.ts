/** What operators can say on a command line. */
import type { SurveyFilter } from '../../engine/survey.ts';
import { type Standing, standings } from '../../model/standing.ts';
import { viewOptions } from '../live/look-on.ts';
import { momentFrom } from '../time.ts';
import { WrongUsage } from '../usage.ts';
import type { OperatorValues } from './at.ts';

export const operatorOptions = {
  store: { type: 'string' },
  url: { type: 'string' },
  token: { type: 'string' },
  reveal: { type: 'boolean' },
  ascii: { type: 'boolean' },
  full: { type: 'boolean' },
  status: { type: 'string', multiple: true },
  tool: { type: 'string' },
  owner: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  text: { type: 'string' },
  limit: { type: 'string' },
  all: { type: 'boolean' },
  reason: { type: 'string' },
  decline: { type: 'boolean' },
  yes: { type: 'boolean' },
  ...viewOptions,
} as const;

const ofList = ['status', 'tool', 'owner', 'since', 'until', 'text', 'limit', 'all'];
const ofEveryVerb = ['store', 'url', 'token', 'reveal', 'ascii', 'json', 'no-color', 'help'];

/** The options of a verb beside those that all have. */
const ofVerb: Readonly<Record<string, readonly string[]>> = {
  list: ofList,
  show: ['full'],
  watch: [],
  result: [],
  cancel: ['reason'],
  retry: [],
  answer: ['decline'],
  purge: ['yes'],
};

export const verbs = Object.keys(ofVerb);

export function refuseStrayOptions(verb: string, values: OperatorValues): void {
  const stray = Object.keys(values).find((name) => ![...ofEveryVerb, ...ofVerb[verb]!].includes(name));
  if (stray !== undefined) throw new WrongUsage(`--${stray} is not for ${verb}`);
}

export function filterFrom(values: OperatorValues, now: number): SurveyFilter {
  const { status, tool, owner, since, until, text } = values;
  return {
    ...(status !== undefined && { standings: status.flatMap((words) => words.split(',')).map(standingFrom) }),
    ...(tool !== undefined && { tool }),
    ...(owner !== undefined && { owner }),
    ...(since !== undefined && { since: momentFrom(since, now) }),
    ...(until !== undefined && { until: momentFrom(until, now) }),
    ...(text !== undefined && { text }),
  };
}

function standingFrom(word: string): Standing {
  const standing = standings.find((one) => one === word.trim());
  if (!standing) throw new WrongUsage(`no task is "${word}": --status takes ${standings.join(', ')}`);
  return standing;
}

export function limitFrom(text: string): number {
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1)
    throw new WrongUsage(`--limit wants a whole number of at least 1, not "${text}"`);
  return limit;
}
