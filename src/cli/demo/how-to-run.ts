/** How to start the demo, or with arguments its client, as whoever started this process would write it. */
export function howToRun(...args: readonly string[]): string {
  const { npm_lifecycle_event: script, npm_package_name: name, npm_command: command } = process.env;
  if (script === 'start' && name === 'holdfast')
    return ['npm start', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  return [command === 'exec' ? 'npx holdfast demo' : 'holdfast demo', ...args].join(' ');
}

export const defaultPort = 7420;

/** What follows a call if the server is not where calls go by themselves. */
export function urlOption(url: string): string[] {
  return url === `http://127.0.0.1:${defaultPort}/mcp` ? [] : ['--url', url];
}
