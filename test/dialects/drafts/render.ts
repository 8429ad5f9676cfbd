/** Transcripts as the page about dialects shows them. */
import type { Said } from './recorder.ts';

const width = 110;

/** Each place in a page that is filled by a transcript: `<!-- transcript NAME -->` … `<!-- end -->`. */
const places = /(<!-- transcript (\S+) -->\n)[\s\S]*?(<!-- end -->)/g;

export function namesIn(page: string): string[] {
  return [...page.matchAll(places)].map(([, , name]) => name!);
}

export function filled(page: string, transcript: (name: string) => readonly Said[]): string {
  return page.replace(places, (_, begin, name, end) => `${begin}\n${rendered(transcript(name))}\n${end}`);
}

function rendered(said: readonly Said[]): string {
  const messages = said.map(({ from, message }) => `// ${from}\n${folded(message)}\n`);
  return `\`\`\`jsonc\n${messages.join('\n')}\`\`\`\n`;
}

/** JSON on as few lines as fit the page. */
export function folded(value: unknown, indent = '', room = width - indent.length): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const parts = (deeper: string, width: number) =>
    Object.entries(value).map(([key, one]) => {
      const name = isList ? '' : `${JSON.stringify(key)}: `;
      return `${name}${folded(one, deeper, width - deeper.length - name.length - (isList ? 0 : 1))}`;
    });
  const all = parts('', Infinity).join(', ');
  const flat = isList || all === '' ? `${open}${all}${close}` : `${open} ${all} ${close}`;
  if (flat.length <= room) return flat;
  const deeper = `${indent}  `;
  const lines = parts(deeper, width).map((part) => `${deeper}${part}`);
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}
