/** An authorization server as far as others see it: it publishes keys, and has signed tokens with them. */
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { originOf } from '../kit/serve.ts';

export const audience = 'https://reports.example.com/mcp';

export type SigningKey = Awaited<ReturnType<typeof signingKey>>;

export async function signingKey(kid: string | undefined, algorithm = 'ES256') {
  const { privateKey, publicKey } = await generateKeyPair(algorithm);
  const jwk = { ...(await exportJWK(publicKey)), alg: algorithm, ...(kid !== undefined && { kid }) };
  return { kid, algorithm, privateKey, jwk };
}

export class Issuer {
  readonly url: string;
  readonly jwks: URL;
  keys: SigningKey[] = [];
  fetches = 0;
  /** How it answers instead. */
  trouble: 'closed' | 'error' | 'rubbish' | undefined;

  private constructor(origin: string) {
    this.url = `${origin}/`;
    this.jwks = new URL('jwks.json', this.url);
  }

  static async start(): Promise<Issuer> {
    const server = createServer((_, res) => {
      issuer.fetches++;
      if (issuer.trouble === 'closed') return void res.destroy();
      if (issuer.trouble === 'error') return void res.writeHead(500).end();
      if (issuer.trouble === 'rubbish') return void res.end('{"keys":');
      res.end(JSON.stringify({ keys: issuer.keys.map(({ jwk }) => jwk) }));
    });
    const issuer = new Issuer(await originOf(server));
    issuer.keys = [await signingKey('first')];
    return issuer;
  }

  /** A token that is right, but for what the test changes. A claim that is undefined is left out. */
  sign(changes: Record<string, unknown> = {}, key = this.keys[0]!): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    const claims = {
      iss: this.url,
      aud: audience,
      sub: 'ada',
      client_id: 'desktop',
      scope: 'tasks other',
      iat: now,
      exp: now + 600,
      ...changes,
    };
    const { algorithm: alg, kid, privateKey } = key;
    return new SignJWT(JSON.parse(JSON.stringify(claims)))
      .setProtectedHeader({ alg, ...(kid !== undefined && { kid }) })
      .sign(privateKey);
  }
}
