/** Which addresses may be followed from here: those that open a page or a letter. Everything else is only shown. */
const schemes = new Set(['http:', 'https:', 'mailto:']);

export function safeLink(address: string): string | undefined {
  // A relative address would lead into the dashboard itself, which its author cannot have meant.
  if (!URL.canParse(address)) return undefined;
  const { protocol, href } = new URL(address);
  return schemes.has(protocol) ? href : undefined;
}

export function safePage(address: string): URL | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
}
