/** Data as a collapsible tree. Only open nodes are in the page, and long lists are shown in portions. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { isJsonObject, type Json } from '../../../src/model/json.ts';
import { redacted } from '../../../src/model/redaction.ts';
import { plural } from '../format.ts';
import { CopyButton } from './copy.tsx';
import { Hidden } from './hidden.tsx';

const portion = 50;
const longText = 240;

export function JsonTree({ value, label = 'Data' }: { value: Json; label?: string }) {
  return (
    <div class="tree">
      <Node value={value} depth={0} />
      <div class="tree-tools">
        <CopyButton label={`Copy ${label.toLowerCase()}`} text={() => JSON.stringify(value, null, 2)} />
      </div>
    </div>
  );
}

interface NodeProps {
  readonly name?: string | number;
  readonly value: Json;
  readonly depth: number;
}

function Node({ name, value, depth }: NodeProps) {
  const entries: readonly (readonly [string | number, Json])[] | undefined = Array.isArray(value)
    ? [...value.entries()]
    : isJsonObject(value)
      ? Object.entries(value)
      : undefined;
  if (!entries || entries.length === 0)
    return (
      <div class="tree-line">
        <Name name={name} />
        <Leaf value={value} />
      </div>
    );
  return <Branch name={name} entries={entries} isList={Array.isArray(value)} depth={depth} />;
}

interface BranchProps {
  readonly name: string | number | undefined;
  readonly entries: readonly (readonly [string | number, Json])[];
  readonly isList: boolean;
  readonly depth: number;
}

function Branch({ name, entries, isList, depth }: BranchProps) {
  const isOpen = useSignal(depth === 0 || (depth < 3 && entries.length <= 12));
  const shown = useSignal(portion);
  const onKeyDown = ({ key }: TargetedKeyboardEvent<HTMLButtonElement>) => {
    if (key === 'ArrowRight') isOpen.value = true;
    if (key === 'ArrowLeft') isOpen.value = false;
  };
  const size = isList ? plural(entries.length, 'item') : plural(entries.length, 'field');
  return (
    <div class="tree-branch">
      <button
        type="button"
        class="tree-line tree-toggle"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
        onKeyDown={onKeyDown}
      >
        <Name name={name} />
        <span class="tree-size">
          {isList ? '[ ]' : '{ }'} {size}
        </span>
      </button>
      {isOpen.value && (
        <div class="tree-inside">
          {entries.slice(0, shown.value).map(([key, part]) => (
            <Node key={key} name={key} value={part} depth={depth + 1} />
          ))}
          {entries.length > shown.value && (
            <button
              type="button"
              class="more"
              onClick={() => {
                shown.value += portion * 4;
              }}
            >
              {plural(entries.length - shown.value, 'more', 'more')}
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Name({ name }: { name: string | number | undefined }): ComponentChildren {
  if (name === undefined) return null;
  return <span class={typeof name === 'number' ? 'tree-index' : 'tree-name'}>{name}</span>;
}

function Leaf({ value }: { value: Json }) {
  if (value === redacted) return <Hidden />;
  if (typeof value === 'string') return <Text value={value} />;
  if (value === null) return <span class="tree-null">null</span>;
  if (typeof value === 'object') return <span class="tree-null">{Array.isArray(value) ? '[ ]' : '{ }'}</span>;
  return <span class={`tree-${typeof value}`}>{String(value)}</span>;
}

function Text({ value }: { value: string }) {
  const isWhole = useSignal(false);
  if (value.length <= longText || isWhole.value) return <span class="tree-string">{value || '""'}</span>;
  return (
    <span class="tree-string">
      {value.slice(0, longText)}…{' '}
      <button
        type="button"
        class="more"
        onClick={() => {
          isWhole.value = true;
        }}
      >
        Show all {plural(value.length, 'character')}
      </button>
    </span>
  );
}
