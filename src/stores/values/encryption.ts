/**
 * Whether a database is encrypted, and with which keys. The youngest key that is not retired is the one for new values,
 * for every process, whatever each was started with; so a rewriting of older values that has come to its end is at its
 * end for good. Each key carries a proof: who can open it has the right key.
 *
 *   plain ──▶ encrypting ──▶ encrypted ──▶ (another key) encrypted … ──▶ decrypting ──▶ plain
 *
 * Only while `encrypting` or `decrypting` may values be of both kinds.
 */
import { StoreNotUnlocked } from '../../engine/store-errors.ts';
import { runtime } from '../../model/runtime.ts';
import { Cipher } from './cipher.ts';
import { Damaged } from './damaged.ts';
import type { Keys } from './keys.ts';
import { firstStage } from './rewritten.ts';

export type Mode = 'plain' | 'encrypting' | 'encrypted' | 'decrypting';

export interface KeyInUse {
  readonly id: string;
  readonly proof: Uint8Array;
}

export interface EncryptionState {
  readonly mode: Mode;
  readonly salt: Uint8Array;
  /** Under which values may stand, the oldest first. New ones stand under the last. */
  readonly keys: readonly KeyInUse[];
  /** What is being rewritten, if anything is; what was rewritten of it ends here. */
  readonly stage: string | null;
  readonly position: number;
  /** Whether the files may still hold what once stood there as plain text. */
  readonly hasLeftovers: boolean;
}

export const notEncrypted: EncryptionState = {
  mode: 'plain',
  salt: new Uint8Array(),
  keys: [],
  stage: null,
  position: 0,
  hasLeftovers: false,
};

/** What reads the values of a database in this state; none if nothing in it is encrypted. Refuses without the right keys. */
export function unlock(state: EncryptionState, keys: Keys | undefined, place: string): Cipher | undefined {
  if (state.mode === 'plain') return undefined;
  const names = state.keys.map(({ id }) => id).join(', ');
  if (!keys) {
    throw new StoreNotUnlocked(
      place,
      `it is encrypted (with ${names})`,
      'Give the keys as the option `encryption`; nothing was changed.',
    );
  }
  const cipher = new Cipher(keys.byId, state.salt);
  for (const { id, proof } of state.keys) {
    if (!keys.byId.has(id)) {
      throw new StoreNotUnlocked(
        place,
        `key ${id} is missing: values in it are encrypted with that key`,
        `Give it among the keys, until the values are rewritten under the current one; nothing was changed.`,
      );
    }
    try {
      if (cipher.open(proof, proofPlace(state.mode)).toString() === id) continue;
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
    }
    throw new StoreNotUnlocked(
      place,
      `key ${id} is wrong: it is not the one that the ${kindOf(place)} is encrypted with`,
      `Give the right key under this id, and a new key under a new id; nothing was changed.`,
    );
  }
  return cipher;
}

function kindOf(place: string): string {
  return place.startsWith('postgres') ? 'database' : 'file';
}

/**
 * What becomes of a database when the caller's wish is done: encryption is switched on or off, or a new key begins.
 * Nothing if there is nothing to be done. `known` are the ids of all keys, those that were retired included; of a
 * database that `isNew`, in which nothing ever stood, there is nothing to rewrite.
 */
export function begun(
  state: EncryptionState,
  keys: Keys,
  { known, isNew }: { readonly known: ReadonlySet<string>; readonly isNew: boolean },
): EncryptionState | undefined {
  const { current } = keys;
  const isEncrypted = state.mode === 'encrypted' || state.mode === 'encrypting';
  if (current === null) return isEncrypted ? entered({ ...state, mode: 'decrypting' }, keys) : undefined;
  const isKnown = known.has(current);
  if (isKnown && isEncrypted) return undefined;
  const mode = state.mode === 'encrypted' || isNew ? 'encrypted' : 'encrypting';
  const next: EncryptionState = {
    ...state,
    mode,
    salt: state.mode === 'plain' ? runtime.randomBytes(16) : state.salt,
    keys: isKnown ? state.keys : [...state.keys, { id: current, proof: new Uint8Array() }],
    hasLeftovers: state.hasLeftovers || mode === 'encrypting',
  };
  return isNew ? { ...entered(next, keys), stage: null } : entered(next, keys);
}

/** Everything is to be rewritten, from the beginning. */
function entered(state: EncryptionState, keys: Keys): EncryptionState {
  return { ...proven(state, new Cipher(keys.byId, state.salt)), stage: firstStage, position: 0 };
}

/** Every value is as it should be: keys other than the youngest are no longer needed. */
export function settled(state: EncryptionState, cipher: Cipher): EncryptionState {
  if (state.mode === 'decrypting') return notEncrypted;
  const last = { ...state, mode: 'encrypted', keys: state.keys.slice(-1), stage: null, position: 0 } as const;
  return proven(last, cipher);
}

/** The proofs speak of the mode too: who has no key cannot make others take plain text for good. */
function proven(state: EncryptionState, cipher: Cipher): EncryptionState {
  const place = proofPlace(state.mode);
  return { ...state, keys: state.keys.map(({ id }) => ({ id, proof: cipher.seal(id, id, place) })) };
}

function proofPlace(mode: Mode): string {
  return `holdfast_keys.proof/${mode}`;
}
