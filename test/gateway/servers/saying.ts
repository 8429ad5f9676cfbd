/** What tools that log are told to log. */
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

export const sayInput = {
  messages: z.array(z.object({ level: z.enum(levels), logger: z.string().optional(), data: z.unknown() })),
  /** How often all of them are said. */
  times: z.number().default(1),
  /** Is written to when they have been said. */
  done: z.string().optional(),
  /** The call goes on until there is such a file. */
  until: z.string().optional(),
};

export type Saying = z.infer<z.ZodObject<typeof sayInput>>;

export async function said(
  { messages, times, done, until }: Saying,
  say: (message: { level: (typeof levels)[number]; logger?: string; data: unknown }) => Promise<void>,
): Promise<string> {
  for (let time = 0; time < times; time++)
    for (const { level, logger, data } of messages)
      await say({ level, data, ...(logger !== undefined && { logger }) });
  if (done !== undefined) appendFileSync(done, 'said\n');
  while (until !== undefined && !existsSync(until)) await pause(10);
  return 'said';
}
