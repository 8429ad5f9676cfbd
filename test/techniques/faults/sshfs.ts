/** A real network file system: sshfs, speaking to an SFTP server of this machine without a network in between. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { atEnd, temporaryFolder } from '../../kit/lifetime.ts';
import { until } from '../../kit/until.ts';
import { canMount } from './disk.ts';

const server = '/usr/lib/openssh/sftp-server';

export const canMountSshfs =
  canMount && existsSync(server) && existsSync('/usr/bin/sshfs') && existsSync('/dev/fuse');

/**
 * A folder of another machine, until the end of the test. The two ends are joined by the shell: if this process
 * carried the bytes between them, it would wait for itself.
 */
export async function sshfsFolder(): Promise<string> {
  const base = temporaryFolder();
  const [there, here, back] = ['there', 'of another machine', 'back'].map((name) => join(base, name));
  for (const folder of [there!, here!]) mkdirSync(folder);
  const both = `mkfifo "$3"; ${server} < "$3" | sshfs -f -o passive ":$1" "$2" > "$3"`;
  spawn('sh', ['-c', both, 'sh', there!, here!, back!], { stdio: 'ignore' });
  const isMounted = () => readFileSync('/proc/self/mounts', 'utf8').includes(`:${there} `);
  await until(isMounted);
  atEnd(() => execFileSync('umount', ['-l', here!]));
  return here!;
}
