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
export function folded(value: unknown, indent = '', room = width): string {
  const flat = spaced(value);
  if (flat.length <= room - indent.length || typeof value !== 'object' || value === null) return flat;
  const deeper = `${indent}  `;
  const isList = Array.isArray(value);
  const entries = isList
    ? value.map((one) => folded(one, deeper))
    : Object.entries(value).map(([key, one]) => {
        const name = `${JSON.stringify(key)}: `;
        return `${name}${folded(one, deeper, width - name.length - 1)}`;
      });
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  return `${open}\n${entries.map((entry) => `${deeper}${entry}`).join(',\n')}\n${indent}${close}`;
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${spaced(one)}`);
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}
