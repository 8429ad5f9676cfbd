/** Installs a world into the globals of this process. Import it before any module that stores a global. */
import { replaceGlobals } from './globals.ts';
import { World } from './world.ts';

let world = new World(0);

replaceGlobals(() => world);

/** Uncaught errors fail the run, unless they come from a dead process. */
process.on('uncaughtException', (error) => {
  if (!world.isRunning) {
    console.error(error);
    process.exit(1);
  }
  if (!world.current.isDead) world.fail(error);
});

export function enter(next: World): void {
  world = next;
}
