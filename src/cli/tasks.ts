/** `holdfast tasks`: calls that were made on this machine, and what became of them. */

import type { Handles } from '../client/handles.ts';
import type { JsonObject } from '../model/json.ts';
import { resultOf } from '../requestor/ending.ts';
import { GivenAnswers } from './given-answers.ts';
import { attend } from './live/attend.ts';
import { oneLine } from './live/terminal-text.ts';
import { JsonView, lookOn, PlainView, viewOptions } from './live/view.ts';
import { answer, cancel, type OnCall, show } from './one-look.ts';
import { operatorHelp } from './operator/options.ts';
import { jsonText, printJson } from './output.ts';
import { openRegistry, printTable, recordOf, statusOf, toolOf } from './registry.ts';
import { headersFrom, targetKept } from './target.ts';
import { type Arguments, CommandFailed, readArguments, WrongUsage } from './usage.ts';

const help = `Calls that were made on this machine: what became of them, and how to come back to them.

Usage: holdfast tasks list [--all]     those whose result nobody has seen; with --all, the others too
       holdfast tasks show ID          all that is known of one, from its server if that can be reached
       holdfast tasks watch ID         come back to it, as if it had never been left
       holdfast tasks result ID        wait for its result and print nothing else
       holdfast tasks answer ID JSON   answer what it asks: the fields of a form, or answers by key; null declines
       holdfast tasks cancel ID        ask its server to end it
       holdfast tasks forget ID        strike it off the list; the task itself is not touched

The first 6 letters of an ID will do if no other begins with them.

  --all            with list: delivered results too
  --answer JSON    with watch and result: as for a call
  --handles FILE   where calls are written down (default: in the data folder of the user)
  --header HEADER  'Name: value' for the server; headers are never written down and have to be given again
  --json           tell everything as JSON, one object per line, and ask nothing
  --no-color       no colours; NO_COLOR in the environment does the same
  -h, --help       say this

${operatorHelp}`;

const options = {
  all: { type: 'boolean' },
  answer: { type: 'string', multiple: true },
  handles: { type: 'string' },
  header: { type: 'string', multiple: true },
  ...viewOptions,
} as const;

type Values = Arguments<typeof options>['values'];

type On = OnCall & { readonly values: Values };

const onOne: Readonly<Record<string, (on: On) => Promise<number> | number>> = {
  watch: (on) => come(on, lookOn(on.values)),
  result: (on) =>
    come(on, { view: on.json ? new JsonView() : new PlainView({ isQuiet: true }), desk: undefined }),
  show,
  answer,
  cancel,
  forget: ({ record: { id }, handles, json }) => {
    handles.delete(id);
    console.log(json ? jsonText({ event: 'forgotten', id }) : `Forgot ${id}.`);
    return 0;
  },
};

export async function tasks(args: readonly string[]): Promise<number> {
  // Of whole stores and servers, not of what was called here.
  if (args.some((arg) => /^--(store|url)(=|$)/.test(arg)))
    return (await import('./operator/command.ts')).operatorTasks(args, help);
  const { values, positionals } = readArguments(args, help, options);
  const [verb, id, more, ...rest] = positionals;
  if (verb === undefined) throw new WrongUsage('tasks takes a command, such as list or watch');
  const isList = verb === 'list';
  const command = Object.hasOwn(onOne, verb) ? onOne[verb] : undefined;
  if (!isList && !command)
    throw new WrongUsage(
      verb === 'retry' || verb === 'purge'
        ? `${verb} is for operators: say --store URL or --url URL too`
        : `tasks has no command "${verb}"`,
    );
  if (!isList && id === undefined) throw new WrongUsage(`${verb} takes the id of a call`);
  const extra = isList ? id : verb === 'answer' ? rest[0] : more;
  if (extra !== undefined) throw new WrongUsage(`${verb} takes no "${extra}"`);
  const headers = headersFrom(values.header);
  const handles = await openRegistry(values.handles);
  const json = values.json ?? false;
  try {
    if (isList) return list(handles, { json, all: values.all ?? false });
    const record = recordOf(id!, handles);
    const target = () => targetKept(record.target, headers);
    return await command!({ record, handles, values, json, more, target });
  } finally {
    handles.close();
  }
}

function list(handles: Handles, { json, all }: { json: boolean; all: boolean }): number {
  const records = handles.list({ onlyOpen: !all });
  if (json)
    for (const record of records) {
      const { id, taskId, server, createdAt, isDelivered } = record;
      const [tool, status] = [toolOf(record), statusOf(record)];
      printJson({ id, taskId, server, tool, status, createdAt, isDelivered });
    }
  else printTable(records, handles);
  return 0;
}

/** What is over is here already; everything else is at its server. */
async function come(
  { record, handles, values, target }: On,
  look: ReturnType<typeof lookOn>,
): Promise<number> {
  const given = new GivenAnswers(values.answer);
  const { view } = look;
  if (!record.ending)
    return attend({ ...look, handles, given, target: target() }, (tasks) => tasks.resume(record.id));
  view.called?.({ id: record.id, tool: toolOf(record), since: record.createdAt });
  let result: JsonObject;
  try {
    result = resultOf(record.taskId ?? record.id, record.ending);
  } catch (error) {
    const message = oneLine((error as Error).message);
    view.failed?.(record.id, message, (error as { code?: number }).code);
    throw new CommandFailed(message);
  } finally {
    handles.save({ ...record, isDelivered: true });
  }
  view.result(record.id, result);
  return result.isError ? 1 : 0;
}
