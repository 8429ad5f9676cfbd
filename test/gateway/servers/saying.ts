/** A tool that logs the messages in its input. */
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

export const sayInput = {
  messages: z.array(z.object({ level: z.enum(levels), logger: z.string().optional(), data: z.unknown() })),
  /** How often all messages are logged. */
  times: z.number().default(1),
  /** A file that gets a line after the last message. */
  done: z.string().optional(),
  /** The call waits until this file exists. */
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
