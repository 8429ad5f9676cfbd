/** `holdfast tasks watch ID`: one task, live, until it is over. */

import type { TaskStory } from '../../operator/api.ts';
import { printJson } from '../json-line.ts';
import { CommandFailed } from '../usage.ts';
import type { At } from './at.ts';
import { drawLive, drawStory } from './draw-story.ts';
import { eventLine, isNoise } from './event-line.ts';
import { howToLeave, live } from './live.ts';
import { line } from './look.ts';

const leftByKey = 130;

export async function watchOne(at: At, first: TaskStory): Promise<number> {
  const { desk, sight, values } = at;
  let story = first;
  let told = -1;
  /** Lines for those who cannot see it being drawn. */
  const tell = () => {
    if (story.task.version === told) return;
    if (values.json) printJson(story.task);
    else if (!sight.terminal)
      sight.print(story.events.filter((one) => one.version > told && !isNoise(one)).map(eventLine));
    told = story.task.version;
  };
  const how = await live(desk, sight, {
    heard: (message) =>
      message.type === 'reset' ||
      message.removed.includes(first.task.rootId) ||
      message.tasks.some(({ id }) => id === first.task.rootId),
    look: async () => {
      const found = await desk.story(first.task.id);
      if (!found) throw new CommandFailed(`Task ${first.task.id} was removed.`);
      story = found;
      tell();
      return story.task.finishedAt === undefined ? 'goes on' : 'over';
    },
    away: () => sight.terminal || values.json || console.error('The server is away; trying again.'),
    back: () => sight.terminal || values.json || console.error('The server is back.'),
    ...(!values.json && {
      draw: ({ columns, rows, isAway }) => {
        const look = at.look(columns);
        const last = isAway ? 'The server is away; trying again.' : howToLeave(sight);
        return [...drawLive(story, look, rows - 2), '', line([[last, isAway ? 'yellow' : 'dim']], look)];
      },
    }),
  });
  if (how === 'left') return leftByKey;
  if (sight.terminal && !values.json) {
    sight.print(drawStory(story, at.look()));
    at.sayWhatIsHidden();
  }
  return story.task.standing === 'completed' ? 0 : 1;
}
