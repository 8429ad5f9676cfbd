/** A real disk of a given size: a file system in memory, mounted for one test and gone after it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Only root may mount; elsewhere these tests are skipped. */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0 && mountWorks();

export function smallDisk(kilobytes = 2_048) {
  const { folder, unmount } = mount(kilobytes);
  process.once('exit', unmount);
  onTestFinished(() => {
    process.off('exit', unmount);
    unmount();
  });
  const ballast = join(folder, 'ballast');
  return {
    folder,
    /** Takes all the space there is but so many bytes. */
    fill(leaving = 0) {
      const { bfree, bsize } = statfsSync(folder);
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bfree * bsize - leaving)));
    },
    free: () => rmSync(ballast),
    makeReadOnly: () => execFileSync('mount', ['-o', 'remount,ro', folder]),
  };
}

function mount(kilobytes: number): { folder: string; unmount: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-disk-'));
  const options = ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'holdfast-test', folder];
  execFileSync('mount', options, { stdio: 'pipe' });
  const unmount = () => {
    // Lazily: a test that failed may have left files open.
    execFileSync('umount', ['-l', folder]);
    rmdirSync(folder);
  };
  return { folder, unmount };
}

function mountWorks(): boolean {
  try {
    mount(64).unmount();
    return true;
  } catch {
    return false;
  }
}
