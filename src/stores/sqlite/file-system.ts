/** Kinds of file system on which locks and shared memory do not reach other machines, by their magic number. */
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
