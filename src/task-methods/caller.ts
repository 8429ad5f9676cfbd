/** The caller of a request. Every task method needs it first. */

import type { Dialect, Sender } from '../dialects/dialect.ts';
import type { Owner } from '../model/task.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface Caller {
  readonly owner: Owner;
  readonly dialect: Dialect;
  readonly sender: Sender;
  /** The session of the request, if there is one. A pipe is one session with an empty name. */
  readonly session?: string;
  /** Limits the caller. Undefined for no limits. */
  readonly limiter?: RateLimiter;
  /** Returns the network address of the request, if known. */
  readonly address?: (() => string | undefined) | undefined;
}

/** Callers without a token share this owner. Their tasks are protected by unguessable ids. */
export const anonymous: Owner = 'anonymous';

/** The contents of a verified token: the part of the SDK's `AuthInfo` that identifies the owner. */
export interface Credentials {
  readonly clientId: string;
  readonly extra?: Record<string, unknown>;
}

/** The single user of a server that runs as a child process of its client. */
export const local: Owner = 'local';

/** The credentials of a request: a verified token, `undefined` for none, or `'local'` from the parent process. */
export type Bearer = Credentials | 'local' | undefined;

/** The owner, from the issuer, subject and client of the token. Tokens in which these are equal share their tasks. */
export function ownerOf(credentials: Credentials | undefined): Owner {
  if (!credentials) return anonymous;
  const { clientId, extra = {} } = credentials;
  const parts = [extra.iss, extra.sub, clientId].map((part) => (typeof part === 'string' ? part : ''));
  return `token:${JSON.stringify(parts)}`;
}
