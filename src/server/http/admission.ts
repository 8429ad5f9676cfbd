/** Admission of HTTP requests: checks the host, the origin and the bearer token before anything else. */
import {
  type AuthInfo,
  bearerAuthChallengeResponse,
  buildOAuthProtectedResourceMetadata,
  getOAuthProtectedResourceMetadataUrl,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  OAuthError,
  OAuthErrorCode,
  type VerifyBearerTokenOptions,
  validateHostHeader,
  validateOriginHeader,
  verifyBearerToken,
} from '@modelcontextprotocol/server';
import { transportRefusal } from '../../dialects/json-rpc.ts';
import { InvalidOptions } from '../../model/errors.ts';

export interface AdmissionOptions {
  /** Host names, without ports, that requests may use for this server. Default: localhost, to prevent DNS rebinding. */
  readonly allowedHosts?: readonly string[];
  /** Host names (not URLs) of pages that may call this server from a browser. Default: localhost. */
  readonly allowedOrigins?: readonly string[];
  /** Requires a bearer token in every request: `jwtTokens()`, `staticTokens()`, or a verifier of your own. */
  readonly auth?: VerifyBearerTokenOptions;
  /** Describes the tokens that clients need; served at `/.well-known/oauth-protected-resource` plus the path. */
  readonly resource?: ProtectedResource;
  /** Called with errors whose details callers do not receive. */
  readonly onError?: (error: Error) => void;
}

export type Admission = { readonly authInfo: AuthInfo | undefined } | { readonly refusal: Response };

export class AdmissionControl {
  readonly #hosts: string[];
  readonly #origins: string[];
  readonly #auth: VerifyBearerTokenOptions | undefined;
  readonly #metadata: ResourceMetadata | undefined;
  readonly #onError: (error: Error) => void;
  /** Host headers that already passed the check. Limited, because the port may vary. */
  readonly #goodHosts = new Set<string>();

  constructor({ allowedHosts, allowedOrigins, auth, resource, onError = () => {} }: AdmissionOptions) {
    this.#hosts = [...(allowedHosts ?? localhostAllowedHostnames())];
    this.#origins = [...(allowedOrigins ?? localhostAllowedOrigins())];
    this.#metadata = resource && metadataOf(resource);
    this.#auth = auth && this.#metadata ? { resourceMetadataUrl: this.#metadata.url, ...auth } : auth;
    this.#onError = onError;
  }

  /** The response with the public metadata document; undefined if the request is for something else. */
  published(method: string, url: string | undefined, host: string | null | undefined): Response | undefined {
    if (!this.#metadata) return undefined;
    const asked = URL.parse(url ?? '/', this.#metadata.url)?.pathname;
    if (asked !== new URL(this.#metadata.url).pathname) return undefined;
    return this.refuse(host, undefined) ?? published(this.#metadata.document, method);
  }

  /** The refusal of a request with a wrong host or origin; undefined if both are allowed. */
  refuse(host: string | null | undefined, origin: string | null | undefined): Response | undefined {
    if (!host || !this.#goodHosts.has(host)) {
      if (host && !/^[\w.:[\]-]+$/.test(host)) return refusal(403, 'Invalid Host header');
      const checked = validateHostHeader(host, this.#hosts);
      if (!checked.ok) return refusal(403, checked.message);
      if (this.#goodHosts.size < 100) this.#goodHosts.add(host!);
    }
    if (!origin) return undefined;
    const checked = validateOriginHeader(origin, this.#origins);
    return checked.ok ? undefined : refusal(403, checked.message);
  }

  /** True if requests need no token. */
  get isOpen(): boolean {
    return this.#auth === undefined;
  }

  /** Verifies the bearer token. `verified`: the token if middleware already verified it. */
  async admit(authorization: string | null | undefined, verified?: AuthInfo): Promise<Admission> {
    if (!this.#auth || verified) return { authInfo: verified };
    try {
      return { authInfo: await verifyBearerToken(authorization, this.#auth) };
    } catch (error) {
      const isRefused = error instanceof OAuthError && error.code !== OAuthErrorCode.TemporarilyUnavailable;
      if (!isRefused) this.#onError(error as Error);
      if (isRefused || !(error instanceof OAuthError))
        return { refusal: bearerAuthChallengeResponse(error, this.#auth) };
      // A token that cannot be verified must not be called invalid: clients would discard it.
      const headers = { 'retry-after': '5' };
      return { refusal: Response.json(error.toResponseObject(), { status: 503, headers }) };
    }
  }
}

/** A JSON-RPC error with the id null, for a request whose body was not read or has none. */
export function refusal(status: number, message: string, code = transportRefusal): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status });
}

// --- Protected resource metadata (RFC 9728) ----------------------------------------------------------------

export interface ProtectedResource {
  /** The public URL of this server. */
  readonly url: string | URL;
  /** The issuers of accepted tokens. */
  readonly authorizationServers: readonly (string | URL)[];
  /** The scopes that tokens may have. */
  readonly scopes?: readonly string[];
  readonly name?: string;
  readonly documentation?: string | URL;
}

const methods = 'GET, HEAD, OPTIONS';
/** The metadata is public, and browser clients fetch it from any origin. */
const anyOrigin = { 'access-control-allow-origin': '*' };

interface ResourceMetadata {
  /** The public URL of the document. */
  readonly url: string;
  readonly document: object;
}

function metadataOf(resource: ProtectedResource): ResourceMetadata {
  const { authorizationServers, scopes, name, documentation } = resource;
  const resourceServerUrl = new URL(resource.url);
  const issuers = authorizationServers.map((issuer) => (issuer instanceof URL ? issuer.href : issuer));
  // The SDK builds a document for one issuer and refuses unsafe ones. Call it for each issuer, to check all of them;
  // the first document is used, with the list of issuers replaced.
  const [document] = issuers.map((issuer) =>
    buildOAuthProtectedResourceMetadata({
      oauthMetadata: { issuer } as never,
      resourceServerUrl,
      ...(scopes && { scopesSupported: [...scopes] }),
      ...(name !== undefined && { resourceName: name }),
      ...(documentation !== undefined && { serviceDocumentationUrl: new URL(documentation) }),
    }),
  );
  if (!document)
    throw new InvalidOptions(
      'INVALID_TOKEN_OPTIONS',
      'The resource needs an issuer in authorizationServers.',
    );
  return {
    url: getOAuthProtectedResourceMetadataUrl(resourceServerUrl),
    document: { ...document, authorization_servers: issuers, bearer_methods_supported: ['header'] },
  };
}

function published(document: object, method: string): Response {
  if (method === 'GET') return Response.json(document, { headers: anyOrigin });
  if (method === 'HEAD')
    return new Response(null, { headers: { ...anyOrigin, 'content-type': 'application/json' } });
  if (method !== 'OPTIONS')
    return new Response(null, { status: 405, headers: { ...anyOrigin, allow: methods } });
  const preflight = { 'access-control-allow-methods': methods, 'access-control-allow-headers': '*' };
  return new Response(null, { status: 204, headers: { ...anyOrigin, ...preflight } });
}
