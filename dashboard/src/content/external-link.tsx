import type { ComponentChildren } from 'preact';

/** A link out of the dashboard that sends no referrer. `href` must have passed `safeLink`. */
export function ExternalLink({ href, children }: { href: string; children: ComponentChildren }) {
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
