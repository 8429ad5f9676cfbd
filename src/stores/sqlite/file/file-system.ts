import { readFileSync, realpathSync, statfsSync } from 'node:fs';

/** File systems whose locks and shared memory do not work across machines, by magic number. */
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

export function networkFileSystem(type: number): string | undefined {
  return network[type >>> 0];
}

const fuse = 0x65735546;
const networkFuse =
  /^fuse\.(sshfs|s3fs|rclone|gcsfuse|goofys|blobfuse2?|glusterfs|ceph-fuse|juicefs|mfs|seaweedfs|smbnetfs|curlftpfs)$/;

/** The network file system of a folder; undefined for a local one. */
export function networkFileSystemOf(folder: string): string | undefined {
  const { type } = statfsSync(folder);
  return type === fuse ? networkFuse.exec(mountOf(folder))?.[1] : networkFileSystem(type);
}

/** FUSE file systems may be local or remote; the mount table has their type. */
function mountOf(folder: string): string {
  const path = `${realpathSync(folder)}/`;
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n');
  const [nearest] = mounts
    .map((line) => line.split(' '))
    .filter(([, point = ' ']) => path.startsWith(`${plain(point)}/`))
    .toSorted(([, a], [, b]) => b!.length - a!.length);
  return nearest?.[2] ?? '';
}

/** The mount table escapes spaces and similar characters as octal numbers. */
function plain(point: string): string {
  return point.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
}
