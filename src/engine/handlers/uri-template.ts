/**
 * URIs and simple URI templates of RFC 6570. `{name}` matches one or more characters without "/", `{+name}` also with
 * "/". The time for a match is linear in the length of the URI, because URIs are untrusted input.
 */
import { InvalidOptions } from '../../model/errors.ts';

export interface UriTemplate {
  /** The names of the variables; empty for a fixed URI. */
  readonly names: readonly string[];
  /** The decoded values of the variables; undefined if the URI does not match. */
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
    throw new InvalidOptions('INVALID_TOOL', `"${text}" is not a valid URI or URI template: ${why}.`);
  };
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) refuse('it must begin with a scheme, as in "report://daily"');
  const parts = text.split(/(\{[^{}]*\})/).filter((piece) => piece !== '');
  const names = new Set<string>();
  return parts.map((piece, index) => {
    if (!/[{}]/.test(piece)) return piece;
    const [, plus, name] = /^\{(\+?)([A-Za-z0-9_]+)\}$/.exec(piece) ?? [];
    if (name === undefined)
      return refuse(`"${piece}" is not supported; use "{name}" or "{+name}" with letters, digits and "_"`);
    if (names.has(name)) return refuse(`"${name}" occurs twice`);
    if (parts[index - 1]?.endsWith('}'))
      return refuse(`the beginning of "${piece}" is ambiguous; put text in front of it`);
    names.add(name);
    return { name, crossesSlashes: plus === '+' };
  });
}

/** The values of the variables. Each takes as much text as possible, if the rest of the URI can still match. */
function matched(parts: readonly Part[], uri: string): Readonly<Record<string, string>> | undefined {
  const ways = suffixMatches(parts, uri);
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
    return undefined; // The URI contains an invalid percent-encoding.
  }
}

/**
 * `[part][position]` is 1 if this part and all later parts match the URI from this position to its end. After the last
 * part there is one more row, in which only the end of the URI matches.
 */
function suffixMatches(parts: readonly Part[], uri: string): readonly Uint8Array[] {
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

/** True if the variable may contain the character at this position. */
function takes({ crossesSlashes }: Exclude<Part, string>, uri: string, at: number): boolean {
  return crossesSlashes || uri[at] !== '/';
}
