/**
 * Every table in which values may be encrypted, in the order in which they are rewritten, and how one row of it is
 * brought to how it would be written now. Databases select the rows, and put back what is said here.
 */
import type { Task } from '../../model/task.ts';
import { placeOfSaid, type SaidRow, saidColumn } from './said.ts';
import type { SealedCells } from './sealed-cells.ts';

type Rewrite<Text> = (row: never, cells: SealedCells<Text>) => Readonly<Record<string, unknown>> | undefined;

interface NamedRow {
  readonly id: string;
}

export const stages = ['tasks', 'commits', 'results', 'sessions', 'secrets', 'audit'] as const;
export const firstStage: Stage = 'tasks';

export type Stage = (typeof stages)[number];

/** The new values of the columns that hold any; nothing of a row that is as it should be. */
export function rewritesOf<Text>(): Readonly<Record<Stage, Rewrite<Text>>> {
  type Cells = SealedCells<Text>;
  return {
    tasks(row: NamedRow & { owner: string; tool: string; key: Text | null; body: Text }, cells: Cells) {
      const isKeyRight = row.key === null || cells.isKeyAsWritten(row.key);
      if (isKeyRight && cells.isAsWritten(row.body)) return undefined;
      const text = cells.read(row.body, 'tasks.body', row.id);
      const body = cells.write(text, 'tasks.body', row.id);
      if (isKeyRight) return { key: row.key, body };
      const { key } = (JSON.parse(text) as Task).idempotency!;
      return { key: cells.keyOf({ owner: row.owner, tool: row.tool, key }), body };
    },
    commits(row: NamedRow & { version: number; events: Text; journal: Text | null }, cells: Cells) {
      const { id, version, events, journal } = row;
      if (cells.isAsWritten(events) && (journal === null || cells.isAsWritten(journal))) return undefined;
      const again = (stored: Text, column: string) =>
        cells.write(cells.read(stored, column, id, version), column, id, version);
      return {
        events: again(events, 'commits.events'),
        journal: journal === null ? null : again(journal, 'commits.journal'),
      };
    },
    results({ id, value }: NamedRow & { value: Text }, cells: Cells) {
      if (cells.isAsWritten(value)) return undefined;
      return { value: cells.write(cells.read(value, 'results.value', id), 'results.value', id) };
    },
    sessions({ id, opening }: NamedRow & { opening: Text }, cells: Cells) {
      if (cells.isAsWritten(opening)) return undefined;
      return { opening: cells.write(cells.read(opening, 'sessions.opening', id), 'sessions.opening', id) };
    },
    secrets: ({ id, value }: NamedRow & { value: Uint8Array }, cells: Cells) => ({
      value: cells.writeBytes(cells.readBytes(value, 'secrets.value', id), 'secrets.value', id),
    }),
    audit(row: SaidRow<Text>, cells: Cells) {
      if (cells.isAsWritten(row.said)) return undefined;
      const place = placeOfSaid(row);
      return { said: cells.write(cells.read(row.said, saidColumn, place), saidColumn, place) };
    },
  };
}
