/** Names and numbers of the Tasks extension (SEP-2663) and of the revision that it is part of. */
export const revision = '2026-07-28';
export const extension = 'io.modelcontextprotocol/tasks';

export const missingCapability = -32021;
export const unsupportedVersion = -32022;
/** Ours: the specification reserves its own range and has no code for it. */
export const limitExceeded = -31029;

export const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion';
export const clientInfoKey = 'io.modelcontextprotocol/clientInfo';
export const clientCapabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
export const serverInfoKey = 'io.modelcontextprotocol/serverInfo';
export const logLevelKey = 'io.modelcontextprotocol/logLevel';
export const subscriptionIdKey = 'io.modelcontextprotocol/subscriptionId';

/** Ours: `{ progress, total?, message? }` in the metadata of a task, since no notification may carry it. */
export const progressKey = 'dev.holdfast/progress';
/** Ours: a request with the same key, owner, tool and arguments gives the same task. Servers list it as an extension. */
export const idempotencyKey = 'dev.holdfast/idempotency-key';
