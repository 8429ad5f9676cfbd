/** The world that the globals of this process stand for. To be imported before anything that keeps a global for itself. */
import { replaceGlobals } from './globals.ts';
import { World } from './world.ts';

let world = new World(0);

replaceGlobals(() => world);

/** Errors that nobody caught. What the dead do counts for nothing. */
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
