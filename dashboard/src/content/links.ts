/** Only links to web pages and mail addresses can be followed. All others are shown as text. */
const schemes = new Set(['http:', 'https:', 'mailto:']);

export function safeLink(address: string): string | undefined {
  // A relative address would point into the dashboard itself, which the author cannot have meant.
  if (!URL.canParse(address)) return undefined;
  const { protocol, href } = new URL(address);
  return schemes.has(protocol) ? href : undefined;
}

export function safePage(address: string): URL | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
}
