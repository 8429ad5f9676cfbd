/** What operators can say on a command line. */

import { type TaskStatus, taskStatuses } from '../../model/status.ts';
import type { TaskFilter } from '../../ports/query.ts';
import { momentFrom } from '../time.ts';
import { oneOf, WrongUsage } from '../usage.ts';
import { viewOptions } from '../views/call-view.ts';
import type { OperatorValues } from './open-operator.ts';

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

const ofEveryVerb = ['store', 'url', 'token', 'reveal', 'ascii', 'json', 'no-color'];

/** The options of a verb beside those that all have. */
const ofVerb: Readonly<Record<string, readonly string[]>> = {
  list: ['status', 'tool', 'owner', 'since', 'until', 'text', 'limit', 'all'],
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

export function filterFrom(values: OperatorValues, now: number): TaskFilter {
  const { status, tool, owner, since, until, text } = values;
  return {
    ...(status !== undefined && { statuses: status.flatMap((words) => words.split(',')).map(standingFrom) }),
    ...(tool !== undefined && { tool }),
    ...(owner !== undefined && { owner }),
    ...(since !== undefined && { since: momentFrom(since, now) }),
    ...(until !== undefined && { until: momentFrom(until, now) }),
    ...(text !== undefined && { text }),
  };
}

function standingFrom(word: string): TaskStatus {
  return oneOf(taskStatuses, word.trim(), `no task is "${word}": --status takes ${taskStatuses.join(', ')}`);
}

/** What `holdfast tasks --help` says to operators. */
export const operatorHelp = `For operators: the same commands with --store URL (a store that can be reached from here) or --url URL (a server with
an operator's view) are about all tasks there, whoever called them.

       holdfast tasks list      --status failed,lost  --tool NAME  --owner OWNER  --since 2h  --until WHEN
                                --text WORDS  --limit N (default 50), or --all
       holdfast tasks show ID   its timeline, what was said, what came of it; --full leaves nothing out
       holdfast tasks watch     everything, live; with an ID one task until its end (exit code 0 if it completed)
       holdfast tasks result ID
       holdfast tasks cancel ID [--reason WHY]
       holdfast tasks answer ID [KEY] [JSON | --decline]
       holdfast tasks retry ID  make the same call again
       holdfast tasks purge ID --yes

  --store URL      sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE
  --url URL        the address of a server, such as http://127.0.0.1:7420, or of its dashboard as it printed it
  --token TOKEN    for --url; better in HOLDFAST_OPERATOR_TOKEN, which others on the machine cannot see
  --reveal         with --store: values too, which are hidden because only servers know what is secret in them
  --ascii          no signs beyond ASCII; usual where the locale is not UTF-8
  --json           what is told, as JSON: one document, or one per line

Exit code 0, 1 if something failed or the task did, 2 if the usage is wrong, 130 if somebody left a task before its end
(with --store or --url; a call that was made here goes on, and leaving it is 0).`;
