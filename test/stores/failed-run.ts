/** A process whose run of a tool goes wrong, and that has nothing else to do: `failed-run.ts`. */
import { durableTool } from 'holdfast';
import { runTool } from 'holdfast/testing';

const patient = durableTool('patient', {}, async (_, task) => String(await task.waitForEvent('never')));
await runTool(patient, undefined).catch(({ code }) => console.log(code));
