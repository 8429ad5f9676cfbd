import { existsSync, readFileSync } from 'node:fs';

/** The complete lines of a file; none if it does not exist. */
export function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
}

export function textOf(result: object): string {
  const { content } = result as { content: readonly { text?: string }[] };
  return content.map(({ text = '' }) => text).join('\n');
}
