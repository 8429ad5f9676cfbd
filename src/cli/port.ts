/** Ports of this machine, as they are given with a command, and why one cannot be had. */
import { CommandFailed, WrongUsage } from './usage.ts';

export function portFrom(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new WrongUsage(`"${text}" is no port: use a number from 0 to 65535`);
  return port;
}

/** The error of a server that could not listen, in words; any other as it is. */
export function portWorded(error: NodeJS.ErrnoException, port: number): Error {
  if (error.syscall !== 'listen') return error;
  if (error.code === 'EADDRINUSE')
    return new CommandFailed(`Port ${port} is taken: stop what uses it, or choose another with --port.`);
  if (error.code === 'EACCES')
    return new CommandFailed(`Port ${port} is not for this user: choose another with --port.`);
  return error;
}
