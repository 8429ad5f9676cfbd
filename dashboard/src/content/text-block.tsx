/** A text of a tool: plain, as Markdown, or as JSON data. The reader can always switch to the plain text. */
import { useSignal } from '@preact/signals';
import type { Json } from '../../../src/model/json.ts';
import { plural } from '../format.ts';
import type { TextForm } from './blocks.ts';
import { CopyButton } from './copy.tsx';
import { JsonTree } from './json-tree.tsx';
import { Markdown } from './markdown-view.tsx';

const longText = 4_000;

export function TextBlock({ text, form }: { text: string; form: TextForm }) {
  const isRaw = useSignal(false);
  const isWhole = useSignal(text.length <= longText);
  // JSON cannot be parsed in part, so it is always shown whole.
  const isJson = form === 'json' && !isRaw.value;
  const shown = isWhole.value || isJson ? text : `${text.slice(0, longText)}…`;
  const title = form === 'json' ? 'Data' : 'Formatted';
  return (
    <div class="text-block">
      {isJson ? (
        <JsonTree value={JSON.parse(text) as Json} />
      ) : form === 'markdown' && !isRaw.value ? (
        <Markdown text={shown} />
      ) : (
        <p class="plain-text">{shown}</p>
      )}
      <div class="block-tools">
        {shown !== text && (
          <button
            type="button"
            class="more"
            onClick={() => {
              isWhole.value = true;
            }}
          >
            Show all {plural(text.length, 'character')}
          </button>
        )}
        {form !== 'plain' && (
          <div class="switch">
            {[false, true].map((raw) => (
              <button
                key={String(raw)}
                type="button"
                aria-pressed={isRaw.value === raw}
                onClick={() => {
                  isRaw.value = raw;
                }}
              >
                {raw ? 'Plain text' : title}
              </button>
            ))}
          </div>
        )}
        {!isJson && <CopyButton label="Copy text" text={() => text} />}
      </div>
    </div>
  );
}
