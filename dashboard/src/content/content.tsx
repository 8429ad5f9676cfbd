/** Shows values of tools according to their types. */
import type { ComponentChildren } from 'preact';
import type { Json } from '../../../src/model/json.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icons.tsx';
import { type ContentBlock, renderedValue } from './blocks.ts';
import './content.css';
import { ExternalLink } from './external-link.tsx';
import { HiddenWhole } from './hidden.tsx';
import { JsonTree } from './json-tree.tsx';
import { safeLink } from './links.ts';
import { savedAs, shownAs, sizeOf } from './media.ts';
import { TextBlock } from './text-block.tsx';

export function Content({ value }: { value: Json }) {
  const { blocks, structured } = renderedValue(value);
  if (blocks.length === 0 && structured === undefined) return <p class="nothing">Empty.</p>;
  return (
    <div class="content">
      {blocks.map((block, i) => (
        <BlockView key={i} block={block} />
      ))}
      {structured !== undefined && (
        <section class="structured" aria-label="Structured content">
          {blocks.length > 0 && <h3>Structured content</h3>}
          <JsonTree value={structured} />
        </section>
      )}
    </div>
  );
}

export function BlockView({ block }: { block: ContentBlock }): ComponentChildren {
  switch (block.type) {
    case 'text':
      return <TextBlock text={block.text} form={block.form} />;
    case 'image':
      return <Picture {...block} />;
    case 'audio':
      return <Sound {...block} />;
    case 'file':
      return <File {...block} />;
    case 'data':
      return <JsonTree value={block.value} />;
    case 'hidden':
      return <HiddenWhole />;
    case 'link':
      return <ResourceLink {...block} />;
    case 'message':
      return (
        <section class="message" aria-label={`Message from the ${block.role}`}>
          <h4>{block.role}</h4>
          {block.blocks.map((inside, i) => (
            <BlockView key={i} block={inside} />
          ))}
        </section>
      );
    case 'resource':
      return (
        <section class="resource" aria-label={`Resource ${block.uri}`}>
          <h4>
            <Icon name="file" />
            <Address uri={block.uri} />
            {block.mimeType && <span class="mime">{block.mimeType}</span>}
          </h4>
          <BlockView block={block.inside} />
        </section>
      );
  }
}

interface Bytes {
  readonly mimeType: string;
  readonly data: string;
}

function Picture({ mimeType, data }: Bytes) {
  const address = shownAs('image', mimeType, data);
  if (!address) return <File mimeType={mimeType} data={data} />;
  return (
    <figure class="picture">
      <img src={address} alt="Part of the tool’s result" />
      <figcaption>
        {mimeType}, {size(data)}
      </figcaption>
    </figure>
  );
}

function Sound({ mimeType, data }: Bytes) {
  const address = shownAs('audio', mimeType, data);
  if (!address) return <File mimeType={mimeType} data={data} />;
  return (
    <figure class="sound">
      {/* biome-ignore lint/a11y/useMediaCaption: tools give no captions */}
      <audio src={address} controls preload="metadata" />
      <figcaption>
        {mimeType}, {size(data)}
      </figcaption>
    </figure>
  );
}

function File({ mimeType, data }: Bytes) {
  const save = () => {
    const blob = savedAs(data);
    if (!blob) return;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = 'holdfast-file.bin';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  const isWhole = savedAs(data.slice(0, 64)) !== undefined;
  return (
    <p class="file">
      <Icon name="file" />
      <span>
        {mimeType || 'Unknown type'}, {size(data)}. No preview available.
      </span>
      {isWhole ? (
        <Button onClick={save}>Save</Button>
      ) : (
        <span>Cannot be saved: the data is not valid base64.</span>
      )}
    </p>
  );
}

function size(base64: string): string {
  return bytes(sizeOf(base64));
}

function bytes(count: number): string {
  if (count < 1_024) return `${count} bytes`;
  return count < 1_048_576 ? `${(count / 1_024).toFixed(1)} KB` : `${(count / 1_048_576).toFixed(1)} MB`;
}

type Linked = Extract<ContentBlock, { type: 'link' }>;

function ResourceLink({ uri, name, description, mimeType, size: length }: Linked) {
  return (
    <section class="resource" aria-label={`Link to ${name}`}>
      <h4>
        <Icon name="link" />
        <span>{name}</span>
        {mimeType && <span class="mime">{mimeType}</span>}
        {length !== undefined && <span class="mime">{bytes(length)}</span>}
      </h4>
      {description && <p>{description}</p>}
      <p>
        <Address uri={uri} />
      </p>
    </section>
  );
}

function Address({ uri }: { uri: string }) {
  const href = safeLink(uri);
  return href ? (
    <ExternalLink href={href}>
      <span class="mono">{uri}</span>
    </ExternalLink>
  ) : (
    <span class="mono">{uri}</span>
  );
}
