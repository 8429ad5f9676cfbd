/** Command line options of operators. */

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

const commonOptions = ['store', 'url', 'token', 'reveal', 'ascii', 'json', 'no-color'];

/** The options of each command, in addition to the common ones. */
const optionsOfVerb: Readonly<Record<string, readonly string[]>> = {
  list: ['status', 'tool', 'owner', 'since', 'until', 'text', 'limit', 'all'],
  show: ['full'],
  watch: [],
  result: [],
  cancel: ['reason'],
  retry: [],
  answer: ['decline'],
  purge: ['yes'],
};

export const verbs = Object.keys(optionsOfVerb);

export function refuseStrayOptions(verb: string, values: OperatorValues): void {
  const stray = Object.keys(values).find(
    (name) => ![...commonOptions, ...optionsOfVerb[verb]!].includes(name),
  );
  if (stray !== undefined) throw new WrongUsage(`--${stray} cannot be used with ${verb}`);
}

export function filterFrom(values: OperatorValues, now: number): TaskFilter {
  const { status, tool, owner, since, until, text } = values;
  return {
    ...(status !== undefined && { statuses: status.flatMap((words) => words.split(',')).map(statusFrom) }),
    ...(tool !== undefined && { tool }),
    ...(owner !== undefined && { owner }),
    ...(since !== undefined && { since: momentFrom(since, now) }),
    ...(until !== undefined && { until: momentFrom(until, now) }),
    ...(text !== undefined && { text }),
  };
}

function statusFrom(word: string): TaskStatus {
  return oneOf(taskStatuses, word.trim(), `"${word}" is not a status: use ${taskStatuses.join(', ')}`);
}

/** The operators' part of `holdfast tasks --help`. */
export const operatorHelp = `For operators: with --store URL (a store that this machine can open) or --url URL (a server with the operator API), the
same commands manage all tasks there, of all owners.

       holdfast tasks list      --status failed,lost  --tool NAME  --owner OWNER  --since 2h  --until WHEN
                                --text WORDS  --limit N (default 50), or --all
       holdfast tasks show ID   timeline, questions and result; --full also shows events, audit log and long values
       holdfast tasks watch     live view of all tasks; with an ID, of one task until it finishes (0 if it completed)
       holdfast tasks result ID
       holdfast tasks cancel ID [--reason WHY]
       holdfast tasks answer ID [KEY] [JSON | --decline]
       holdfast tasks retry ID  call the tool again as a new task, with the same arguments
       holdfast tasks purge ID --yes
                                delete a finished task and its result

  --store URL      sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE
  --url URL        address of a server, such as http://127.0.0.1:7420, or the dashboard address that it printed
  --token TOKEN    token for --url; safer in HOLDFAST_OPERATOR_TOKEN, which other users cannot see
  --reveal         with --store: show values, which are hidden because only servers know which fields are secret
  --ascii          print only ASCII characters (default if the locale is not UTF-8)
  --json           print JSON: one document, or one object per line

Exit code: 0 on success, 1 if the command or the task failed, 2 if the usage is wrong, 130 if you quit watching a task
before it finished (only with --store or --url; detaching from your own call is 0).`;
