/** What clients are told of the tokens that they must show: the protected resource metadata of RFC 9728. */
import {
  buildOAuthProtectedResourceMetadata,
  getOAuthProtectedResourceMetadataUrl,
} from '@modelcontextprotocol/server';
import { InvalidTokenOptions } from '../../access/tokens.ts';

export interface ProtectedResource {
  /** The public URL of this server, as clients call it. */
  readonly url: string | URL;
  /** The issuers whose tokens it takes. */
  readonly authorizationServers: readonly (string | URL)[];
  /** Scopes that tokens for it may have. */
  readonly scopes?: readonly string[];
  readonly name?: string;
  readonly documentation?: string | URL;
}

const methods = 'GET, HEAD, OPTIONS';
/** It is public, and browsers fetch it from wherever their client lives. */
const anyOrigin = { 'access-control-allow-origin': '*' };

export class ResourceMetadata {
  /** Where it is served, as the public knows it. */
  readonly url: string;
  readonly #path: string;
  readonly #document: object;

  constructor({ url, authorizationServers, scopes, name, documentation }: ProtectedResource) {
    const resourceServerUrl = new URL(url);
    this.url = getOAuthProtectedResourceMetadataUrl(resourceServerUrl);
    this.#path = new URL(this.url).pathname;
    const issuers = authorizationServers.map((issuer) => (issuer instanceof URL ? issuer.href : issuer));
    const [document] = issuers.map((issuer) =>
      buildOAuthProtectedResourceMetadata({
        oauthMetadata: { issuer } as never,
        resourceServerUrl,
        ...(scopes && { scopesSupported: [...scopes] }),
        ...(name !== undefined && { resourceName: name }),
        ...(documentation !== undefined && { serviceDocumentationUrl: new URL(documentation) }),
      }),
    );
    if (!document) throw new InvalidTokenOptions('The resource needs an issuer in authorizationServers.');
    // The SDK builds it for one issuer, and refuses those that are not safe; each was put to that.
    this.#document = {
      ...document,
      authorization_servers: issuers,
      bearer_methods_supported: ['header'],
    };
  }

  isAt(url = '/'): boolean {
    const base = 'http://localhost';
    return URL.canParse(url, base) && new URL(url, base).pathname === this.#path;
  }

  answer(method: string): Response {
    if (method === 'OPTIONS')
      return new Response(null, {
        status: 204,
        headers: {
          ...anyOrigin,
          'access-control-allow-methods': methods,
          'access-control-allow-headers': '*',
        },
      });
    if (method === 'GET') return Response.json(this.#document, { headers: anyOrigin });
    if (method === 'HEAD')
      return new Response(null, { headers: { ...anyOrigin, 'content-type': 'application/json' } });
    return new Response(null, { status: 405, headers: { ...anyOrigin, allow: methods } });
  }
}
