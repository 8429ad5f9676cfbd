/** The `holdfast` command. Exit code 2 means wrong usage, explained in one sentence on stderr. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const options = {
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

const help = `Holdfast: durable tasks for MCP, for tools that take minutes or days and survive crashes and restarts.

Usage: holdfast [--help | --version]

  -h, --help     say this
  --version      say which version this is`;

process.exitCode = run(process.argv.slice(2));

function run(args: readonly string[]): number {
  // Not strict: Node's own words for unknown options are several sentences.
  const { values, tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') return wrongUsage(`there is no command "${token.value}"`);
    if (token.kind === 'option' && !Object.hasOwn(options, token.name))
      return wrongUsage(`there is no option ${token.rawName}`);
  }
  console.log(values.version ? version() : help);
  return 0;
}

function wrongUsage(problem: string): number {
  console.error(`holdfast: ${problem}; \`holdfast --help\` says what there is.`);
  return 2;
}

function version(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}
