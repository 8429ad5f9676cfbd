/** The page at `/`: one file without a framework, which asks the server for its tasks every second. */
import { pageScript } from './page-script.ts';
import { pageStyle } from './page-style.ts';

export interface PageWords {
  /** Where the MCP server is. */
  readonly url: string;
  /** Starts the server. */
  readonly start: string;
  /** Makes a task. */
  readonly call: string;
}

export function page(nonce: string, { url, start, call }: PageWords): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Holdfast demo</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(icon)}">
<style nonce="${nonce}">${pageStyle}</style>
</head>
<body>
<header>
  <h1>Holdfast demo</h1>
  <p class="where"><code>${escaped(url)}</code></p>
  <p id="connection" class="connection" role="status">connecting</p>
</header>
<p id="offline" class="offline" hidden>
  <strong>The server is away.</strong>
  What is not done waits in its store and goes on when it is back: <code>${escaped(start)}</code>
</p>
<main id="tasks">
  <section id="empty" class="empty" hidden>
    <h2>No tasks yet</h2>
    <p>Call a durable tool from a second terminal and watch it here:</p>
    <pre><code>${escaped(call)}</code></pre>
    <p>Then kill the server in the middle with <code>kill -9</code> and start it again.</p>
  </section>
  <section id="waiting" hidden><h2>Waiting for an answer</h2><ul></ul></section>
  <section id="running" hidden><h2>Running</h2><ul></ul></section>
  <section id="finished" hidden><h2>Finished</h2><ul></ul></section>
</main>
<noscript><p class="offline">This page needs JavaScript to ask the server for its tasks.</p></noscript>
<script nonce="${nonce}">${pageScript}</script>
</body>
</html>
`;
}

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="#0f766e"/><path d="M8 3v10M4 8c0 3 2 5 4 5s4-2 4-5M6 5h4" fill="none" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>`;

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
