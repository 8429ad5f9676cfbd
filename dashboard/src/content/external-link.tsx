import type { ComponentChildren } from 'preact';

/** Leads away from the dashboard, and tells nobody from where. `href` must have passed `safeLink`. */
export function ExternalLink({ href, children }: { href: string; children: ComponentChildren }) {
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
