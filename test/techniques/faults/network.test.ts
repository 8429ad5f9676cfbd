import { readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqlite } from '../../../src/sqlite.ts';
import { networkFileSystem } from '../../../src/stores/sqlite/file/file-system.ts';
import { temporaryFile } from '../../kit/lifetime.ts';
import { canMount, smallDisk } from './disk.ts';
import { failureToOpen } from './opener.ts';
import { canMountSshfs, sshfsFolder } from './sshfs.ts';

/** The magic numbers of linux/magic.h and of the file systems' own headers. */
const remote: readonly [name: string, magic: number][] = [
  ['NFS', 0x6969],
  ['SMB', 0x517b],
  ['CIFS', 0xff534d42],
  ['SMB2', 0xfe534d42],
  ['9P', 0x01021997],
  ['AFS', 0x5346414f],
  ['Ceph', 0x00c36400],
  ['Lustre', 0x0bd00bd0],
  ['GPFS', 0x47504653],
  ['GFS2', 0x01161970],
  ['OCFS2', 0x7461636f],
  ['Coda', 0x73757245],
];

const local: readonly [name: string, magic: number][] = [
  ['ext4', 0xef53],
  ['xfs', 0x58465342],
  ['btrfs', 0x9123683e],
  ['tmpfs', 0x01021994],
  ['overlay', 0x794c7630],
  ['zfs', 0x2fc12fc1],
  ['f2fs', 0xf2f52010],
  ['apfs', 0x1a],
  ['ramfs', 0x858458f6],
];

test.for(remote)('%s is a network file system', ([name, magic]) => {
  expect(networkFileSystem(magic)).toBe(name);
});

test.for(remote)('%s is one also where its number is read as a signed one', ([name, magic]) => {
  expect(networkFileSystem(magic | 0)).toBe(name);
});

test.for(local)('%s is a local file system', ([, magic]) => {
  expect(networkFileSystem(magic)).toBeUndefined();
});

test('no local mount of this machine is taken for a network file system', () => {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').trimEnd().split('\n');
  const localOnes = mounts
    .map((line) => line.split(' '))
    .filter(([, , kind]) => /^(ext|xfs|btrfs|tmpfs|overlay)/.test(kind!));
  expect(localOnes.length).toBeGreaterThan(0);
  for (const [, folder, kind] of localOnes)
    expect(networkFileSystem(statfsSync(folder!).type), kind).toBeUndefined();
});

test.skipIf(!canMount)(
  'a database opens on a file system in memory and on the disk of temporary files',
  async () => {
    for (const file of [`${smallDisk().folder}/tasks.db`, temporaryFile()])
      await (await openSqlite(file)).close();
  },
);

test.skipIf(!canMountSshfs)('a folder of another machine, mounted with sshfs, is refused', async () => {
  const folder = await sshfsFolder();
  for (const file of [join(folder, 'tasks.db'), join(folder, 'below', 'tasks.db')]) {
    const { code, message } = await failureToOpen(file);
    expect(code).toBe('STORE_NOT_OPENED');
    expect(message).toContain(`${file}: it is on a network file system (sshfs)`);
    expect(message).toContain('Put the file on a local disk');
  }
});
