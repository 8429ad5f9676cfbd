/** Who sent a request, as every task method must know before anything else. */

import type { Dialect, Sender } from '../dialects/dialect.ts';
import type { Owner } from '../model/task.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface Caller {
  readonly owner: Owner;
  readonly dialect: Dialect;
  readonly sender: Sender;
  /** The session of the request, where there are sessions; a pipe is one that has no name. */
  readonly session?: string;
  /** What it may ask for; without one, as much as it likes. */
  readonly limiter?: RateLimiter;
  /** Where the request came from, where that is known. */
  readonly address?: (() => string | undefined) | undefined;
}

/** Callers that nobody vouches for share a scope in which the unguessable id is the key. */
export const anonymous: Owner = 'anonymous';

/** What a verified token says of its bearer; the part of the SDK's `AuthInfo` that tells owners apart. */
export interface Credentials {
  readonly clientId: string;
  readonly extra?: Record<string, unknown>;
}

/** The single user of a server that runs as a child of its client. */
export const local: Owner = 'local';

/** Where a request came from: with a token, without one, or from the process that started this one. */
export type Bearer = Credentials | 'local' | undefined;

/** Issuer, subject and client of the token. Whoever is not told apart by it shares tasks. */
export function ownerOf(credentials: Credentials | undefined): Owner {
  if (!credentials) return anonymous;
  const { clientId, extra = {} } = credentials;
  const parts = [extra.iss, extra.sub, clientId].map((part) => (typeof part === 'string' ? part : ''));
  return `token:${JSON.stringify(parts)}`;
}
