/** `holdfast tasks … --store URL` and `--url URL`: the tasks of a whole store or server, for those who operate it. */

import { oneLine } from '../live/terminal-text.ts';
import { printJson } from '../output.ts';
import { CommandFailed, readArguments, WrongUsage } from '../usage.ts';
import { answer, cancel, purge, result, retry, storyOf } from './acts.ts';
import { type At, openDesk, standAt } from './desk.ts';
import { drawStory } from './draw-story.ts';
import { list } from './list.ts';
import { operatorOptions, refuseStrayOptions, verbs } from './options.ts';
import { watchAll, watchOne } from './watch.ts';

const fewestLetters = 8;
const wholeLength = 32;
const mostPages = 20;

type OnOne = (at: At, id: string, more: readonly string[]) => Promise<number>;

const onOne: Readonly<Record<string, OnOne>> = {
  show: async (at, id) => {
    const story = await storyOf(at, id);
    at.sayWhatIsHidden();
    if (at.values.json) printJson(story);
    else at.sight.print(drawStory(story, at.look()));
    return 0;
  },
  watch: async (at, id) => watchOne(at, await storyOf(at, id)),
  result,
  cancel,
  retry,
  answer,
  purge,
};

export async function operatorTasks(args: readonly string[], help: string): Promise<number> {
  const { values, positionals } = readArguments(args, help, operatorOptions);
  const [verb, id, ...more] = positionals;
  if (verb === undefined) throw new WrongUsage('tasks takes a command, such as list or watch');
  if (!verbs.includes(verb))
    throw new WrongUsage(
      `tasks has no command "${verb}" with --store or --url: there are ${verbs.join(', ')}`,
    );
  refuseStrayOptions(verb, values);
  if (verb === 'list' && id !== undefined) throw new WrongUsage(`list takes no "${id}": --text finds tasks`);
  if (id === undefined && verb !== 'list' && verb !== 'watch')
    throw new WrongUsage(`${verb} takes the id of a task`);
  const extra = more[verb === 'answer' ? 2 : 0];
  if (extra !== undefined) throw new WrongUsage(`${verb} takes no "${extra}"`);
  if (verb === 'purge' && !values.yes)
    throw new WrongUsage('purge removes a task and its results for good: say --yes too');

  await using opened = await openDesk(values);
  const at = await standAt(opened, values, verb === 'watch');
  if (verb === 'list') return await list(at);
  if (id === undefined) return await watchAll(at);
  return await onOne[verb]!(at, await wholeId(at, id), more);
}

/**
 * A beginning will do if it is one of a call, or of a subtask that asks, and no other has it; other subtasks are found
 * by their whole id only.
 */
async function wholeId({ desk }: At, id: string): Promise<string> {
  if (id.length >= wholeLength || !/^[a-z2-7]+$/.test(id)) return id;
  if (id.length < fewestLetters)
    throw new WrongUsage(`"${oneLine(id)}" is too short: give ${fewestLetters} letters or more of an id`);
  const found = new Set<string>();
  let cursor: string | undefined;
  for (const filter of [{ text: id, standings: ['waiting'] }, { text: id }] as const) {
    cursor = undefined;
    for (let pages = 0; pages < mostPages; pages++) {
      const page = await desk.list({ ...filter, limit: 100, ...(cursor !== undefined && { cursor }) });
      for (const task of page.tasks) if (task.id.startsWith(id)) found.add(task.id);
      cursor = page.nextCursor;
      if (cursor === undefined || found.size > 1) break;
    }
    // Whether there is another cannot be known before the end is reached.
    if (cursor !== undefined) break;
  }
  if (found.size > 1)
    throw new WrongUsage(`several tasks have an id that begins with ${id}: give more of it`);
  const [only] = found;
  if (only !== undefined && cursor === undefined) return only;
  throw new CommandFailed(
    cursor === undefined
      ? `No task has an id that begins with ${id}; of a subtask that asks nothing the whole id is needed.`
      : `There are too many tasks to look for ${id} in all of them: give the whole id.`,
  );
}
