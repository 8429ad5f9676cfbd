import './check-node.ts';

// For authors of servers: the ways in which requests reach durable tools.
export { jwtTokens, staticTokens } from './access/tokens.ts';
export type { JwtTokensOptions, StaticToken } from './access/tokens.ts';
export type { ServingOptions } from './server/binding.ts';
export type { Credentials } from './hosting/caller.ts';
export type { GateOptions } from './server/http/gate.ts';
export type { HandlerOptions } from './server/http/handler.ts';
export type { ProtectedResource } from './server/http/gate.ts';
export { McpHandler } from './server/http/handler.ts';
export type { OperationsOptions } from './server/http/serve.ts';
export type { HttpServer, ServeHttpOptions } from './server/http/serve.ts';
export type { OperatorAccess, OperatorHandlerOptions } from './server/http/operator.ts';
export { OperatorHandler } from './server/http/operator.ts';
export { serveHttp } from './server/http/serve.ts';
export type { ServeStdioOptions, StdioServer } from './server/stdio.ts';
export { serveStdio } from './server/stdio.ts';
