/** The planted defects in `sim/defects`: patches that each break one thing in `src`, for copies of this repository. */
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '../../..');
const folder = join(root, 'sim/defects');

type Defect = (typeof defects)[number];

/** One of the violations that the simulation reports must match that of the defect. */
export const defects = readdirSync(folder)
  .filter((file) => file.endsWith('.patch'))
  .sort()
  .map((file) => {
    const patch = join(folder, file);
    const violation = /^Violation: (.+)$/m.exec(readFileSync(patch, 'utf8'))?.[1];
    if (violation === undefined) throw new Error(`${patch} has no line "Violation: PATTERN".`);
    return { name: basename(file, '.patch'), patch, violation: new RegExp(violation) };
  });

export function copySimulation(to: string): void {
  for (const part of ['src', 'sim', 'scripts/sim.ts', 'package.json', 'tsconfig.json'])
    cpSync(join(root, part), join(to, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'));
}

export function plant({ name, patch }: Defect, inFolder: string): void {
  apply(name, [patch], inFolder);
}

/** Throws if a patch does not apply to the sources as they are. */
export function checkPatch({ name, patch }: Defect): void {
  apply(name, ['--check', patch], root);
}

function apply(name: string, args: readonly string[], cwd: string): void {
  try {
    // No repository around the folder may decide which paths count: it need not be in one.
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(cwd) };
    execFileSync('git', ['apply', ...args], { cwd, env, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const { stderr } = error as { readonly stderr?: string };
    throw new Error(
      `The patch sim/defects/${name}.patch no longer applies: plant the defect in the changed code.\n${stderr ?? error}`,
    );
  }
}
