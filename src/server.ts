export type { ServingOptions } from './server/serving-options.ts';
import './check-node.ts';

// For authors of servers: serving durable tools over HTTP and stdio.
export { jwtTokens, staticTokens } from './security/tokens.ts';
export type { JwtTokensOptions, StaticToken } from './security/tokens.ts';
export type { Credentials } from './task-methods/caller.ts';
export type { AdmissionOptions } from './server/http/admission.ts';
export type { HandlerOptions } from './server/http/handler.ts';
export type { ProtectedResource } from './server/http/admission.ts';
export { McpHandler } from './server/http/handler.ts';
export type { OperationsOptions } from './server/http/serve.ts';
export type { HttpServer, ServeHttpOptions } from './server/http/serve.ts';
export type { OperatorAccess, OperatorHandlerOptions } from './server/http/operator/operator-handler.ts';
export { OperatorHandler } from './server/http/operator/operator-handler.ts';
export { serveHttp } from './server/http/serve.ts';
export type { ServeStdioOptions, StdioServer } from './server/stdio.ts';
export { serveStdio } from './server/stdio.ts';
