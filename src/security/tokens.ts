/**
 * Verifiers of bearer tokens, for the `auth` option of a server: JWTs signed by an authorization server, or a few
 * static tokens. The issuer, subject and client of a token determine the owner of its tasks.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { OAuthError, OAuthErrorCode, type VerifyBearerTokenOptions } from '@modelcontextprotocol/server';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWK,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import { type Duration, toMs } from '../model/duration.ts';
import { InvalidOptions } from '../model/errors.ts';
import { runtime } from '../runtime/runtime.ts';

/** Algorithms that sign with a private key. `none` and algorithms with a shared secret (HS256 etc.) are unsafe here. */
const safeAlgorithms: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

export interface JwtTokensOptions {
  /** The required issuer (`iss`) of a token. */
  readonly issuer: string;
  /** The `aud` of a token must contain this value, or one of these. Usually the URL of this server. */
  readonly audience: string | readonly string[];
  /** Where the issuer publishes its keys, or the keys themselves. */
  readonly jwks: URL | JSONWebKeySet | readonly JWK[];
  /** Accepted signature algorithms. Default: RS, PS and ES with 256, 384 and 512 bits, EdDSA and Ed25519. */
  readonly algorithms?: readonly string[];
  /** Scopes that every token must have. A request whose token lacks one gets 403. */
  readonly requiredScopes?: readonly string[];
  /** The tolerated difference between the clocks of issuer and server. Default `'10s'`. */
  readonly clockTolerance?: Duration;
  /** How long fetched keys are cached. Default `'10m'`. */
  readonly keysGoodFor?: Duration;
  /** The minimum time between two fetches of the keys. An unknown key triggers a fetch. Default `'30s'`. */
  readonly refetchAfter?: Duration;
}

/** Verifies tokens that an authorization server signed (JWT, RFC 9068). They must have an `exp` and a `sub`. */
export function jwtTokens(options: JwtTokensOptions): VerifyBearerTokenOptions {
  const { issuer, audience, algorithms = safeAlgorithms, requiredScopes } = options;
  const unsafe = algorithms.find((algorithm) => !safeAlgorithms.includes(algorithm));
  if (unsafe !== undefined || algorithms.length === 0)
    throw new InvalidOptions(
      'INVALID_TOKEN_OPTIONS',
      `Tokens signed with "${unsafe ?? ''}" are not accepted. Use some of: ${safeAlgorithms.join(', ')}.`,
    );
  const audiences = [audience].flat();
  if (!issuer || audiences.length === 0 || audiences.some((one) => !one))
    throw new InvalidOptions(
      'INVALID_TOKEN_OPTIONS',
      'jwtTokens needs an issuer and an audience, neither of them empty.',
    );
  const toleranceMs = toMs(options.clockTolerance ?? '10s');
  const keys = keysOf(options);
  const checks: JWTVerifyOptions = {
    issuer,
    audience: audiences,
    algorithms: [...algorithms],
    clockTolerance: toleranceMs / 1_000,
    requiredClaims: ['exp', 'sub'],
  };
  return {
    verifier: {
      async verifyAccessToken(token) {
        const payload = await verified(token, keys, checks);
        const { iss, sub, exp } = payload as { iss: string; sub: unknown; exp: number };
        if (typeof sub !== 'string' || sub === '') throw invalid('Its "sub" must be a non-empty string.');
        // The audience of the token that is accepted here, if it is a URL.
        const resource = [payload.aud].flat().find((one) => audiences.includes(one!) && URL.canParse(one!));
        return {
          token,
          clientId: clientOf(payload) ?? sub,
          scopes: scopesOf(payload),
          // In seconds since 1970. The SDK checks the expiry again without the tolerance, so add it here.
          expiresAt: exp + Math.ceil(toleranceMs / 1_000),
          ...(resource !== undefined && { resource: new URL(resource) }),
          extra: { iss, sub, claims: payload },
        };
      },
    },
    ...(requiredScopes && { requiredScopes: [...requiredScopes] }),
  };
}

function keysOf({ jwks, keysGoodFor = '10m', refetchAfter = '30s' }: JwtTokensOptions): JWTVerifyGetKey {
  if (!(jwks instanceof URL)) {
    try {
      return createLocalJWKSet(Array.isArray(jwks) ? { keys: jwks } : (jwks as JSONWebKeySet));
    } catch (error) {
      throw new InvalidOptions(
        'INVALID_TOKEN_OPTIONS',
        `The keys are not a JSON Web Key Set: ${(error as Error).message}.`,
      );
    }
  }
  // Plain HTTP is safe within one machine.
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(jwks.hostname);
  if (jwks.protocol !== 'https:' && !isLocal)
    throw new InvalidOptions(
      'INVALID_TOKEN_OPTIONS',
      `Keys from ${jwks.href} cannot be trusted: only HTTPS authenticates their server. Use an https: URL.`,
    );
  return createRemoteJWKSet(jwks, {
    cacheMaxAge: toMs(keysGoodFor),
    cooldownDuration: toMs(refetchAfter),
    timeoutDuration: 5_000,
  });
}

async function verified(token: string, keys: JWTVerifyGetKey, checks: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys, checks)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw worded(error);
    // A token need not name the key that signed it: try all keys of the issuer that match its algorithm.
    for await (const key of error) {
      const found = await jwtVerify(token, key, checks).catch((problem: unknown) => {
        if (!(problem instanceof errors.JWSSignatureVerificationFailed)) throw worded(problem);
      });
      if (found) return found.payload;
    }
    throw invalid('Its signature is wrong.');
  }
}

/** Converts an error of `jose`: the token is invalid, or (all other errors) the issuer's keys cannot be fetched. */
function worded(error: unknown): OAuthError {
  if (error instanceof errors.JWTExpired) return invalid('It has expired.');
  if (error instanceof errors.JWTClaimValidationFailed) return invalid(claimFault(error));
  if (error instanceof errors.JWSSignatureVerificationFailed) return invalid('Its signature is wrong.');
  if (error instanceof errors.JWKSNoMatchingKey)
    return invalid('Its issuer does not publish the key that signed it.');
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported)
    return invalid('Its signature algorithm is not accepted here.');
  if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid)
    return invalid('It is not a signed JWT.');
  const unavailable = new OAuthError(
    OAuthErrorCode.TemporarilyUnavailable,
    'Tokens cannot be verified at the moment: the keys of their issuer could not be fetched. Try again later.',
  );
  unavailable.cause = error;
  return unavailable;
}

function claimFault({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (reason === 'missing') return `It has no "${claim}".`;
  if (claim === 'iss') return 'It was issued by another issuer.';
  if (claim === 'aud') return 'It is for another audience.';
  if (claim === 'nbf' && reason === 'check_failed') return 'It is not valid yet.';
  return `Its "${claim}" is invalid.`;
}

function invalid(reason: string): OAuthError {
  return new OAuthError(OAuthErrorCode.InvalidToken, `The token is not accepted. ${reason}`);
}

/** The client of a token. RFC 9068 has `client_id`; many servers send `azp` instead. */
function clientOf({ client_id, azp }: JWTPayload): string | undefined {
  return [client_id, azp].find((one): one is string => typeof one === 'string' && one !== '');
}

/** The scopes of a token. `scope` is a text with spaces; some servers send `scp` instead, often as a list. */
function scopesOf({ scope, scp }: JWTPayload): string[] {
  const scopes = scope ?? scp;
  if (typeof scopes === 'string') return scopes.split(' ').filter((one) => one !== '');
  return Array.isArray(scopes) ? scopes.filter((one) => typeof one === 'string') : [];
}

// --- Static tokens ------------------------------------------------------------------------------------------

export interface StaticToken {
  /** The client that sends the token. */
  readonly clientId: string;
  /** The user of the client. Tokens with the same client and subject share their tasks. */
  readonly subject?: string;
  readonly scopes?: readonly string[];
}

/** In characters: 128 random bits take 22 characters of base64url. */
const minTokenLength = 22;
/** The SDK requires an expiry time. Each request gets a new one, so static tokens never expire. */
const lifetimeSeconds = 3_600;

/** Verifies a few fixed tokens (the keys of `tokens`), for small set-ups. To revoke one, remove it and restart. */
export function staticTokens(
  tokens: Readonly<Record<string, StaticToken>>,
  { requiredScopes }: { readonly requiredScopes?: readonly string[] } = {},
): VerifyBearerTokenOptions {
  const known = Object.entries(tokens).map(([token, bearer]) => {
    if (token.length < minTokenLength || !/^[\w.~+/-]+=*$/.test(token))
      throw new InvalidOptions(
        'INVALID_TOKEN_OPTIONS',
        `The token of ${bearer.clientId} is too short or contains invalid characters. Use at least 128 random bits, such as ${minTokenLength} or more characters of base64url.`,
      );
    if (!bearer.clientId) throw new InvalidOptions('INVALID_TOKEN_OPTIONS', 'Each token needs a clientId.');
    return { digest: digestOf(token), bearer };
  });
  return {
    verifier: {
      async verifyAccessToken(token) {
        const digest = digestOf(token);
        // Compare all digests in constant time, so that the duration reveals nothing about the tokens.
        const [found] = known.filter((one) => timingSafeEqual(one.digest, digest));
        if (!found) throw invalid('It is unknown.');
        const { clientId, subject, scopes = [] } = found.bearer;
        return {
          token,
          clientId,
          scopes: [...scopes],
          expiresAt: Math.floor(runtime.now() / 1_000) + lifetimeSeconds,
          ...(subject !== undefined && { extra: { sub: subject } }),
        };
      },
    },
    ...(requiredScopes && { requiredScopes: [...requiredScopes] }),
  };
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
