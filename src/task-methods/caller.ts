/** The caller of a request, and which owner its tasks belong to. */

import type { Dialect, Sender } from '../dialects/dialect.ts';
import type { Owner } from '../model/task.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface Caller {
  readonly owner: Owner;
  readonly dialect: Dialect;
  /** What the caller supports. */
  readonly sender: Sender;
  /** The id of the session, if the request belongs to one. A stdio connection is one session with an empty id. */
  readonly session?: string;
  /** Enforces the limits on this caller. Undefined if it has no limits. */
  readonly limiter?: RateLimiter;
  /** Returns the network address of the request, if known. */
  readonly address?: (() => string | undefined) | undefined;
}

/** Callers without a token share this owner. Their tasks are protected by unguessable ids. */
export const anonymous: Owner = 'anonymous';

/** The part of the SDK's `AuthInfo`, the contents of a verified token, that identifies the owner. */
export interface Credentials {
  readonly clientId: string;
  readonly extra?: Record<string, unknown>;
}

/** The owner of all tasks of a server that runs as a child process of its client, and so has a single user. */
export const local: Owner = 'local';

/** The credentials of a request: a verified token, `'local'` from the parent process, or undefined for none. */
export type Bearer = Credentials | 'local' | undefined;

/** The owner for a token: its issuer, subject and client. Tokens in which all three are equal share their tasks. */
export function ownerOf(credentials: Credentials | undefined): Owner {
  if (!credentials) return anonymous;
  const { clientId, extra = {} } = credentials;
  const parts = [extra.iss, extra.sub, clientId].map((part) => (typeof part === 'string' ? part : ''));
  return `token:${JSON.stringify(parts)}`;
}
