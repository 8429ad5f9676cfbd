/** Renders the nodes of `markdown.ts`. Every text is a text node, so nothing can become markup. */
import { type ComponentChildren, h } from 'preact';
import { ExternalLink } from './external-link.tsx';
import { type Block, type Inline, type ListItem, markdownBlocks } from './markdown.ts';

export function Markdown({ text }: { text: string }) {
  return <div class="markdown">{markdownBlocks(text).map(blockView)}</div>;
}

function blockView(block: Block, key: number): ComponentChildren {
  switch (block.type) {
    case 'paragraph':
      return <p key={key}>{block.children.map(inlineView)}</p>;
    case 'heading':
      // The page itself uses heading levels 1 to 3.
      return h(`h${Math.min(6, block.depth + 3)}`, { key, class: `depth-${block.depth}` }, [
        block.children.map(inlineView),
      ]);
    case 'code':
      return (
        // A scrollable region must be reachable without a mouse.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <pre key={key} tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case 'quote':
      return <blockquote key={key}>{block.blocks.map(blockView)}</blockquote>;
    case 'list':
      return block.start === undefined ? (
        <ul key={key}>{block.items.map(itemView)}</ul>
      ) : (
        <ol key={key} start={block.start}>
          {block.items.map(itemView)}
        </ol>
      );
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <div key={key} class="scrolls" tabIndex={0}>
          <table>
            <thead>
              <tr>
                {block.head.map((cell, i) => (
                  <th key={i}>{cell.map(inlineView)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, i) => (
                <tr key={i}>
                  {row.map((cell, j) => (
                    <td key={j}>{cell.map(inlineView)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case 'rule':
      return <hr key={key} />;
  }
}

function itemView({ checked, blocks }: ListItem, key: number): ComponentChildren {
  const [only] = blocks;
  const isTight = blocks.length === 1 && only?.type === 'paragraph';
  return (
    <li key={key} class={checked === undefined ? undefined : 'check'}>
      {checked !== undefined && <span>{checked ? '☑ ' : '☐ '}</span>}
      {isTight ? only.children.map(inlineView) : blocks.map(blockView)}
    </li>
  );
}

function inlineView(inline: Inline, key: number): ComponentChildren {
  switch (inline.type) {
    case 'text':
      return inline.text;
    case 'code':
      return <code key={key}>{inline.text}</code>;
    case 'break':
      return <br key={key} />;
    case 'link':
      return (
        <ExternalLink key={key} href={inline.href}>
          {inline.children.map(inlineView)}
        </ExternalLink>
      );
    case 'image':
      return (
        <ExternalLink key={key} href={inline.href}>
          Image: {inline.text || inline.href}
        </ExternalLink>
      );
    default:
      return h(inline.type, { key }, [inline.children.map(inlineView)]);
  }
}
