/** Servers and gateways as processes that can be killed and restarted. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServerProcess } from '../kit/server-process.ts';
import { toyWith } from './stage.ts';

export function holdfast(...args: readonly string[]): string[] {
  const program = join(import.meta.dirname, '../../bin/holdfast.js');
  return [process.execPath, '--disable-warning=ExperimentalWarning', program, ...args];
}

export function toyProcess(...options: string[]): ServerProcess {
  return new ServerProcess((port) => {
    const { command, args } = toyWith('--port', port, ...options);
    return [command, ...args];
  });
}

/** `holdfast serve` with this config. The config file and the tasks are in a folder. */
export function gatewayProcess(config: object, folder: string): ServerProcess {
  const options = optionsIn(folder, config);
  return new ServerProcess((port) => holdfast('serve', '--port', port, ...options));
}

/** `holdfast worker` with the config and the tasks of a gateway. */
export function workerProcess(config: object, folder: string): ServerProcess {
  const options = optionsIn(folder, config);
  return new ServerProcess(() => holdfast('worker', ...options));
}

function optionsIn(folder: string, config: object): readonly string[] {
  const file = join(folder, 'holdfast.json');
  writeFileSync(file, JSON.stringify(config, null, 2));
  return ['--config', file, '--store', `sqlite:${join(folder, 'tasks.db')}`];
}
