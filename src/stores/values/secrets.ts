import type { Secrets } from '../../engine/queue.ts';

export const secretColumn = 'secrets.value';

/** `read` returns the stored secret, which it makes if there is none: a race ends with the same one for all. */
export function rememberedSecrets(read: (name: string) => Promise<Uint8Array>): Secrets {
  const known = new Map<string, Promise<Uint8Array>>();
  return {
    async get(name) {
      const secret = known.get(name) ?? read(name);
      known.set(name, secret);
      secret.catch(() => known.delete(name));
      return secret;
    },
  };
}
