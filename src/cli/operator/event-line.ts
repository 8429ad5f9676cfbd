/** What happened to a task, in words. */
import type { TaskEvent } from '../../model/event.ts';
import type { StoryEvent } from '../../operator/api.ts';
import { oneLine } from '../live/width.ts';
import { timeOfDay, took } from '../time.ts';
import { farOf } from './look.ts';

/** `14:02:11 asks "approval"`. */
export function eventLine({ at, event }: StoryEvent): string {
  return oneLine(`${timeOfDay(at)} ${wordsFor(event, at)}`);
}

/** Book-keeping that nobody would miss in a log. */
export function isNoise({ event }: StoryEvent): boolean {
  return ['recorded', 'delivering', 'undelivered', 'awaited', 'published'].includes(event.type);
}

function wordsFor(event: TaskEvent, at: number): string {
  switch (event.type) {
    case 'created':
      return 'called';
    case 'claimed': {
      const from = event.takenFrom === undefined ? '' : `, taken over from ${event.takenFrom}`;
      return `pass ${event.epoch} on ${event.holder}${from}`;
    }
    case 'recorded':
      return `${event.entries} ${event.entries === 1 ? 'entry' : 'entries'} in the journal`;
    case 'reported': {
      const { progress, message } = event;
      const said = progress?.message ?? message ?? '';
      return [progress ? farOf(progress) : '', said].filter((part) => part !== '').join(' ') || 'reports';
    }
    case 'asked':
      return `asks "${event.key}"`;
    case 'answered':
      return `"${event.key}" is answered`;
    case 'withdrawn':
      return `"${event.key}" is not asked any more`;
    case 'childStarted':
      return `starts subtask ${event.childId}`;
    case 'childDone':
      return `subtask ${event.childId} ended: ${event.outcome}`;
    case 'parked':
      return event.until === null ? 'parked' : `parked for ${took(event.until - at)}`;
    case 'released':
      return 'released by its worker';
    case 'rested':
      return `${event.takenFrom} died or fell silent; rests for ${took(event.until - at)}`;
    case 'isolated':
      return 'runs alone, because its process died before';
    case 'stuck':
      return `set aside for ${took(event.until - at)}: ${event.message}`;
    case 'completed':
      return `"${event.name}" happened`;
    case 'held':
      return `the handler has ended, ${event.liveChildren} subtasks have not`;
    case 'finished':
      return `ended: ${event.outcome}`;
    case 'delivering':
      return `"${event.key}" is being delivered`;
    case 'undelivered':
      return `"${event.key}" was not delivered`;
    case 'awaited':
      return 'its caller waits';
    case 'handedOver':
      return 'handed over to its caller, which follows it with plain tools';
    default:
      return event.type;
  }
}
