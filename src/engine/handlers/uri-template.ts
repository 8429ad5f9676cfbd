import { InvalidOptions } from '../../model/errors.ts';
/**
 * URIs and the simple templates of RFC 6570 that stand for many: `{name}` for one segment, `{+name}` for several.
 * Matching takes time that grows with the length of a URI and no faster, because URIs come from strangers.
 */

export interface UriTemplate {
  /** The names of its variables; none if it is a fixed URI. */
  readonly names: readonly string[];
  /** The decoded values of the variables; undefined if the URI is not one of those meant. */
  match(uri: string): Readonly<Record<string, string>> | undefined;
}

type Part = string | { readonly name: string; readonly crossesSlashes: boolean };

export function uriTemplate(text: string): UriTemplate {
  const parts = partsOf(text);
  const names = parts.flatMap((part) => (typeof part === 'string' ? [] : part.name));
  return { names, match: (uri) => matched(parts, uri) };
}

function partsOf(text: string): readonly Part[] {
  const refuse = (why: string): never => {
    throw new InvalidOptions('INVALID_TOOL', `"${text}" is no URI, and no template of URIs: ${why}.`);
  };
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) refuse('begin it with a scheme, as in "report://daily"');
  const parts = text.split(/(\{[^{}]*\})/).filter((piece) => piece !== '');
  const names = new Set<string>();
  return parts.map((piece, index) => {
    if (!/[{}]/.test(piece)) return piece;
    const [, plus, name] = /^\{(\+?)([A-Za-z0-9_]+)\}$/.exec(piece) ?? [];
    if (name === undefined)
      return refuse(`"${piece}" is not understood; "{name}" and "{+name}" are, of letters, digits and "_"`);
    if (names.has(name)) return refuse(`"${name}" stands in it twice`);
    if (parts[index - 1]?.endsWith('}'))
      return refuse(`nobody could say where the value of "${piece}" begins; put something in front of it`);
    names.add(name);
    return { name, crossesSlashes: plus === '+' };
  });
}

/** Each variable takes as much as leaves the rest a way to match. */
function matched(parts: readonly Part[], uri: string): Readonly<Record<string, string>> | undefined {
  const ways = waysToTheEnd(parts, uri);
  if (!ways[0]![0]) return undefined;
  const values: [string, string][] = [];
  let from = 0;
  for (const [index, part] of parts.entries()) {
    if (typeof part === 'string') {
      from += part.length;
      continue;
    }
    let to = from;
    for (let end = from + 1; end <= uri.length && takes(part, uri, end - 1); end++)
      if (ways[index + 1]![end]) to = end;
    values.push([part.name, uri.slice(from, to)]);
    from = to;
  }
  try {
    return Object.fromEntries(values.map(([name, value]) => [name, decodeURIComponent(value)]));
  } catch {
    return undefined; // A "%" that encodes nothing.
  }
}

/** For each part, and each place in the URI, whether this part and those after it match all that is left of it. */
function waysToTheEnd(parts: readonly Part[], uri: string): readonly Uint8Array[] {
  const end = new Uint8Array(uri.length + 1);
  end[uri.length] = 1;
  const ways = [end];
  for (const part of parts.toReversed()) {
    const after = ways[0]!;
    const here = new Uint8Array(uri.length + 1);
    for (let at = uri.length - 1; at >= 0; at--) {
      const matches =
        typeof part === 'string'
          ? after[at + part.length] && uri.startsWith(part, at)
          : takes(part, uri, at) && (after[at + 1] || here[at + 1]);
      if (matches) here[at] = 1;
    }
    ways.unshift(here);
  }
  return ways;
}

function takes({ crossesSlashes }: Exclude<Part, string>, uri: string, at: number): boolean {
  return crossesSlashes || uri[at] !== '/';
}
