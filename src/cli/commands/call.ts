/** `holdfast call`: calls a tool of any server, and stays with it. */
import { toMs } from '../../model/duration.ts';
import { hasCode } from '../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { attend } from '../calls/follow-call.ts';
import { givenAnswers } from '../calls/given-answers.ts';
import { openRegistry } from '../calls/registry.ts';
import { headersFrom, revisions, targetNamed, targetStarted } from '../calls/target.ts';
import { oneOf, readArguments, readJson, WrongUsage } from '../usage.ts';
import { lookOn, viewOptions } from '../views/call-view.ts';

const help = `Calls a tool, shows its progress, asks what it asks, and prints its result.

Usage: holdfast call TARGET TOOL [JSON]
       holdfast call TOOL [JSON] -- COMMAND [ARG...]

TARGET is the URL of an MCP server, or its name in a config file. After -- comes the command that starts one. A call
that became a task outlives this command: Ctrl-C leaves it, and says how to come back.

  --answer JSON    answers questions without asking: the fields of a form, or an object of answers by the keys of
                   their questions; null declines; given several times, in the order of the questions
  --config FILE    where names of servers are looked up, under "mcpServers" (default .mcp.json or holdfast.json here)
  --detach         print the id of the call and leave
  --drafts         use the drafts of tasks, subtasks among them, if the server has them
  --handles FILE   where calls are written down (default: in the data folder of the user)
  --header HEADER  'Name: value', sent with every request; never written down, to be given again by who comes back
  --json           tell everything as JSON, one object per line, and ask nothing
  --no-color       no colours; NO_COLOR in the environment does the same
  --revision DATE  2025-11-25 or 2026-07-28 of MCP (default auto: the newest that the server has)
  --ttl DURATION   how long the task should be kept, such as 30m or 7d, if the server takes such wishes
  -h, --help       say this

Exit code 0 if it succeeded or goes on, 1 if it failed or cannot be reached, 2 if the usage is wrong.`;

export async function call(args: readonly string[]): Promise<number> {
  const end = args.indexOf('--');
  const { values, positionals } = readArguments(end < 0 ? args : args.slice(0, end), help, {
    answer: { type: 'string', multiple: true },
    config: { type: 'string' },
    detach: { type: 'boolean' },
    drafts: { type: 'boolean' },
    handles: { type: 'string' },
    header: { type: 'string', multiple: true },
    revision: { type: 'string' },
    ttl: { type: 'string' },
    ...viewOptions,
  });
  const { config, drafts = false, revision: date = 'auto' } = values;
  const revision = oneOf(revisions, date, `"${date}" is no revision: use ${revisions.join(', ')}`);
  const options = { config, headers: headersFrom(values.header), revision, drafts };
  const server = end < 0 ? undefined : args.slice(end + 1);
  const [named, tool, input = '{}', ...rest] = server ? [undefined, ...positionals] : positionals;
  if (tool === undefined || rest.length > 0)
    throw new WrongUsage('a call takes a server, a tool and at most one JSON object');
  const given = givenAnswers(values.answer);
  const ttl = ttlFrom(values.ttl);
  const parameters = objectFrom(input);
  const target = server ? targetStarted(server, options) : targetNamed(named!, options);

  const handles = await openRegistry(values.handles);
  try {
    return await attend(
      { ...lookOn(values), target, handles, given, detaches: values.detach ?? false },
      (tasks, signal) => tasks.call(tool, parameters, { signal, ...(ttl !== undefined && { ttl }) }),
    );
  } finally {
    handles.close();
  }
}

function objectFrom(text: string): JsonObject {
  const input = readJson(text, 'the input');
  if (!isJsonObject(input)) throw new WrongUsage(`the input is no JSON object: ${text}`);
  return input;
}

function ttlFrom(text: string | undefined): number | undefined {
  try {
    return text === undefined ? undefined : toMs(text as never);
  } catch (error) {
    if (!hasCode(error, 'INVALID_DURATION')) throw error;
    throw new WrongUsage(`"${text}" is no duration: use a number with a unit, such as 30s, 5m, 24h or 7d`);
  }
}
