import { readFileSync, realpathSync, statfsSync } from 'node:fs';

/**
 * Network file systems, by the magic number that `statfs` returns on Linux. The locks and shared memory that SQLite
 * needs do not work across machines there.
 */
const network: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  16914839: '9P',
  1397113167: 'AFS',
  12805120: 'Ceph',
  198183888: 'Lustre',
  1196443219: 'GPFS',
  18225520: 'GFS2',
  1952539503: 'OCFS2',
  1937076805: 'Coda',
};

/** The name of a network file system; undefined for other types. `>>> 0` because Node may return negative numbers. */
export function networkFileSystem(type: number): string | undefined {
  return network[type >>> 0];
}

/** The magic number of every FUSE file system, local or remote. */
const fuse = 0x65735546;
/** FUSE types in the mount table that are remote. The name follows the dot. */
const networkFuse =
  /^fuse\.(sshfs|s3fs|rclone|gcsfuse|goofys|blobfuse2?|glusterfs|ceph-fuse|juicefs|mfs|seaweedfs|smbnetfs|curlftpfs)$/;

/** The name of the network file system that contains the folder; undefined for a local one. */
export function networkFileSystemOf(folder: string): string | undefined {
  const { type } = statfsSync(folder);
  return type === fuse ? networkFuse.exec(mountOf(folder))?.[1] : networkFileSystem(type);
}

/**
 * The type, such as `fuse.sshfs`, of the mount that contains the folder, from Linux's mount table. Empty if unknown.
 */
function mountOf(folder: string): string {
  const path = `${realpathSync(folder)}/`;
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  const [nearest] = mounts
    .map((line) => line.split(' '))
    .filter(([, point = ' ']) => path.startsWith(`${plain(point)}/`))
    .toSorted(([, a], [, b]) => b!.length - a!.length);
  return nearest?.[2] ?? '';
}

/** Decodes a path in the mount table, where spaces and similar characters are escaped as octal numbers. */
function plain(point: string): string {
  return point.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
}
