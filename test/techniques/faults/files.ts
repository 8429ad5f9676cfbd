/** Database files as an accident leaves them: copied, cut, overwritten. Never while this process has them open. */
import { closeSync, cpSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../../../src/model/errors.ts';
import { StoreError } from '../../../src/ports/store-errors.ts';
import { openSqlite } from '../../../src/sqlite.ts';
import { temporaryFile } from '../../kit/lifetime.ts';

export const pageSize = 4_096;

/** Copies a database with its log and its instances, all but the shared memory, which no crash of a machine leaves. */
export function copyOf(file: string, to = temporaryFile()): string {
  rmSync(dirname(to), { recursive: true, force: true });
  cpSync(dirname(file), dirname(to), { recursive: true, filter: (source) => !source.endsWith('-shm') });
  return join(dirname(to), basename(file));
}

export function readPage(file: string, page: number): Buffer {
  const bytes = Buffer.alloc(pageSize);
  withDescriptor(file, 'r', (descriptor) => readSync(descriptor, bytes, 0, pageSize, (page - 1) * pageSize));
  return bytes;
}

export function writePage(file: string, page: number, bytes: Buffer): void {
  withDescriptor(file, 'r+', (descriptor) =>
    writeSync(descriptor, bytes, 0, pageSize, (page - 1) * pageSize),
  );
}

export function flipByte(file: string, at: number): void {
  const byte = readFileSync(file)[at]!;
  withDescriptor(file, 'r+', (descriptor) => writeSync(descriptor, Buffer.of(byte ^ 0xff), 0, 1, at));
}

function withDescriptor(file: string, flags: string, act: (descriptor: number) => void): void {
  const descriptor = openSync(file, flags);
  try {
    act(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export async function orDamage<T>(promised: Promise<T>): Promise<T | StoreError> {
  return promised.catch((error) => {
    if (error instanceof StoreError && hasCode(error, 'STORE_CORRUPT', 'TASK_CORRUPT')) return error;
    throw error;
  });
}

export async function refusalOf(file: string): Promise<Error> {
  const database = await openSqlite(file).catch((error: Error) => error);
  if (database instanceof Error) return database;
  await database.close();
  throw new Error(`${file} was opened, and should not have been.`);
}
