/**
 * Parses Markdown into a tree of a few plain nodes. Texts of tools are untrusted: HTML stays text, images become links
 * (so that opening a task sends no request to another host), and links must pass `safeLink`. No node type lets anything
 * else into the page.
 */
import { Lexer, type Token, type Tokens } from 'marked';
import { safeLink } from './links.ts';

export type Inline =
  | { readonly type: 'text' | 'code'; readonly text: string }
  | { readonly type: 'strong' | 'em' | 'del'; readonly children: readonly Inline[] }
  | { readonly type: 'link'; readonly href: string; readonly children: readonly Inline[] }
  | { readonly type: 'image'; readonly href: string; readonly text: string }
  | { readonly type: 'break' };

export type Block =
  | { readonly type: 'paragraph'; readonly children: readonly Inline[] }
  | { readonly type: 'heading'; readonly depth: number; readonly children: readonly Inline[] }
  | { readonly type: 'code'; readonly text: string; readonly language?: string }
  | { readonly type: 'quote'; readonly blocks: readonly Block[] }
  | { readonly type: 'list'; readonly start?: number; readonly items: readonly ListItem[] }
  | {
      readonly type: 'table';
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    }
  | { readonly type: 'rule' };

export interface ListItem {
  readonly checked?: boolean;
  readonly blocks: readonly Block[];
}

/** Deeper nesting is shown as plain text. */
const maxDepth = 12;

export function markdownBlocks(text: string): Block[] {
  return blocksOf(new Lexer({ gfm: true, breaks: false }).lex(text), 0);
}

/** Guesses from its syntax whether a text is meant as Markdown. */
export function looksLikeMarkdown(text: string): boolean {
  return (
    /^(#{1,6} \S|```|~~~|\s*[-*+] \S|\s*\d+[.)] \S|> |\|.+\|\s*$)/m.test(text) ||
    /\*\*\S[^*\n]*\*\*|\[[^\]\n]+\]\([^)\s]+\)|`[^`\n]+`/.test(text)
  );
}

function blocksOf(tokens: readonly Token[], depth: number): Block[] {
  if (depth > maxDepth) return [paragraph([{ type: 'text', text: tokens.map(({ raw }) => raw).join('') }])];
  return tokens.flatMap((token) => blockOf(token as Tokens.Generic, depth));
}

function blockOf(token: Tokens.Generic, depth: number): Block[] {
  switch (token.type) {
    case 'space':
    case 'def':
    case 'checkbox':
      return [];
    case 'heading':
      return [{ type: 'heading', depth: token.depth, children: inlinesOf(token.tokens, depth) }];
    case 'code':
      return [{ type: 'code', text: token.text, ...(token.lang && { language: token.lang }) }];
    case 'blockquote':
      return [{ type: 'quote', blocks: blocksOf(token.tokens ?? [], depth + 1) }];
    case 'list':
      return [listOf(token as Tokens.List, depth)];
    case 'table':
      return [tableOf(token as Tokens.Table, depth)];
    case 'hr':
      return [{ type: 'rule' }];
    case 'html':
      return [paragraph([{ type: 'text', text: token.raw.trim() }])];
    default:
      return [
        paragraph(token.tokens ? inlinesOf(token.tokens, depth) : [{ type: 'text', text: plain(token) }]),
      ];
  }
}

function paragraph(children: readonly Inline[]): Block {
  return { type: 'paragraph', children };
}

function listOf(token: Tokens.List, depth: number): Block {
  const items = token.items.map((item) => ({
    ...(item.task && { checked: item.checked === true }),
    blocks: blocksOf(item.tokens, depth + 1),
  }));
  return { type: 'list', ...(token.ordered && { start: Number(token.start) || 1 }), items };
}

function tableOf(token: Tokens.Table, depth: number): Block {
  const cells = (row: readonly Tokens.TableCell[]) => row.map((cell) => inlinesOf(cell.tokens, depth));
  return { type: 'table', head: cells(token.header), rows: token.rows.map(cells) };
}

function inlinesOf(tokens: readonly Token[] | undefined, depth: number): Inline[] {
  if (depth > maxDepth) return [{ type: 'text', text: (tokens ?? []).map(({ raw }) => raw).join('') }];
  return joined((tokens ?? []).flatMap((token) => inlineOf(token as Tokens.Generic, depth + 1)));
}

function inlineOf(token: Tokens.Generic, depth: number): Inline[] {
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'del':
      return [{ type: token.type, children: inlinesOf(token.tokens, depth) }];
    case 'codespan':
      return [{ type: 'code', text: token.text }];
    case 'br':
      return [{ type: 'break' }];
    case 'link':
      return linkOf(token as Tokens.Link, depth);
    case 'image':
      return imageOf(token as Tokens.Image);
    case 'checkbox':
      return [];
    case 'html':
      return [{ type: 'text', text: token.raw }];
    default:
      return token.tokens ? inlinesOf(token.tokens, depth) : [{ type: 'text', text: plain(token) }];
  }
}

/** A link that cannot be followed is shown with its address, so that its text cannot mislead. */
function linkOf(token: Tokens.Link, depth: number): Inline[] {
  const children = inlinesOf(token.tokens, depth);
  const href = safeLink(unescaped(token.href));
  return href
    ? [{ type: 'link', href, children }]
    : [...children, { type: 'text', text: ` (${token.href})` }];
}

function imageOf(token: Tokens.Image): Inline[] {
  const href = safeLink(unescaped(token.href));
  const text = unescaped(token.text);
  return href ? [{ type: 'image', href, text }] : [{ type: 'text', text: `${text} (${token.href})` }];
}

function plain(token: Tokens.Generic): string {
  const text = typeof token.text === 'string' ? token.text : token.raw;
  // An escape already contains the literal text. Everything else may contain character references.
  return token.type === 'escape' ? text : unescaped(text);
}

const references: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  mdash: '—',
  ndash: '–',
  hellip: '…',
};

function unescaped(text: string): string {
  return text.replace(/&(#x[\da-f]{1,6}|#\d{1,7}|[a-z]+);/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return references[name] ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10_ff_ff && !(code >= 0xd800 && code <= 0xdfff)
      ? String.fromCodePoint(code)
      : whole;
  });
}

function joined(inlines: readonly Inline[]): Inline[] {
  const out: Inline[] = [];
  for (const inline of inlines) {
    const last = out.at(-1);
    if (inline.type === 'text' && last?.type === 'text')
      out[out.length - 1] = { type: 'text', text: last.text + inline.text };
    else out.push(inline);
  }
  return out;
}
