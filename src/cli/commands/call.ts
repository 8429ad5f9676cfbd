/** `holdfast call`: calls a tool of any server and follows the call. */
import { toMs } from '../../model/duration.ts';
import { hasCode } from '../../model/errors.ts';
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { followCall } from '../calls/follow-call.ts';
import { givenAnswers } from '../calls/given-answers.ts';
import { openRegistry } from '../calls/registry.ts';
import { headersFrom, revisions, targetFromCommand, targetNamed } from '../calls/target.ts';
import { oneOf, readArguments, readJson, WrongUsage } from '../usage.ts';
import { viewFor, viewOptions } from '../views/call-view.ts';

const help = `Calls a tool, shows its progress, asks its questions, and prints its result.

Usage: holdfast call TARGET TOOL [JSON]
       holdfast call TOOL [JSON] -- COMMAND [ARG...]

TARGET is the URL of an MCP server or its name in a config file. Use -- to give the command that starts a server
instead. A call that became a task continues without this command: press Ctrl-C to detach, and the command to resume is
printed.

  --answer JSON    answer questions without asking: the fields of a form, or an object of answers by question key;
                   null declines; repeat the option to answer several questions in order
  --config FILE    config file with server names under "mcpServers" (default .mcp.json or holdfast.json in this folder)
  --detach         print the id of the call and exit
  --drafts         use the draft versions of tasks, with subtasks, if the server supports them
  --handles FILE   file in which calls are saved (default: in your data folder)
  --header HEADER  'Name: value', sent with every request; headers are not saved, so pass them again to resume
  --json           print JSON, one object per line, and never ask
  --no-color       print without colours, as with NO_COLOR in the environment
  --revision DATE  MCP revision, 2025-11-25 or 2026-07-28 (default auto: the newest that the server supports)
  --ttl DURATION   how long the server should keep the task, such as 30m or 7d; a server may ignore it
  -h, --help       show this help

Exit code: 0 if the call succeeded or continues, 1 if it failed or the server cannot be reached, 2 if the usage is
wrong.`;

export async function call(args: readonly string[]): Promise<number> {
  // Everything after `--` is the command that starts the server.
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
  const revision = oneOf(revisions, date, `"${date}" is not a revision: use ${revisions.join(', ')}`);
  const options = { config, headers: headersFrom(values.header), revision, drafts };
  const server = end < 0 ? undefined : args.slice(end + 1);
  const [named, tool, input = '{}', ...rest] = server ? [undefined, ...positionals] : positionals;
  if (tool === undefined || rest.length > 0)
    throw new WrongUsage('a call takes a server, a tool and at most one JSON object');
  const given = givenAnswers(values.answer);
  const ttl = ttlFrom(values.ttl);
  const parameters = objectFrom(input);
  const target = server ? targetFromCommand(server, options) : targetNamed(named!, options);

  const registry = await openRegistry(values.handles);
  try {
    return await followCall(
      { ...viewFor(values), target, registry, given, detaches: values.detach ?? false },
      (tasks, signal) => tasks.call(tool, parameters, { signal, ...(ttl !== undefined && { ttl }) }),
    );
  } finally {
    registry.close();
  }
}

function objectFrom(text: string): JsonObject {
  const input = readJson(text, 'the input');
  if (!isJsonObject(input)) throw new WrongUsage(`the input is not a JSON object: ${text}`);
  return input;
}

/** In milliseconds. */
function ttlFrom(text: string | undefined): number | undefined {
  try {
    return text === undefined ? undefined : toMs(text as never);
  } catch (error) {
    if (!hasCode(error, 'INVALID_DURATION')) throw error;
    throw new WrongUsage(`"${text}" is not a duration: use a number with a unit, such as 30s, 5m, 24h or 7d`);
  }
}
