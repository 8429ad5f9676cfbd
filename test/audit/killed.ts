/** A process that makes a task and cancels it, and is killed at a place on the way. */
import { createTasks, durableTool } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { sqlite } from 'holdfast/sqlite';
import { type CrashPoint, killAt } from 'holdfast/store/testing';

const [file, place, time] = process.argv.slice(2) as [string, CrashPoint, string];
const wait = durableTool('wait', {}, async () => 'done');
const store = file.startsWith('postgres') ? postgres(file) : sqlite(file);
const tasks = createTasks({ store, tools: [wait], audit: true });
killAt(place, { time: Number(time) });
const { id } = await tasks.create('wait', {}, { owner: 'ada' });
await tasks.cancel(id, 'Changed my mind.');
