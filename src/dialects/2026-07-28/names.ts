/** Names and error codes of the Tasks extension (SEP-2663) and of its revision. */
export const revision = '2026-07-28';
export const extension = 'io.modelcontextprotocol/tasks';

export const missingCapability = -32021;
export const unsupportedVersion = -32022;
/** Our own code, outside the range that the specification reserves. */
export const limitExceeded = -31029;

export const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion';
export const clientInfoKey = 'io.modelcontextprotocol/clientInfo';
export const clientCapabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
export const serverInfoKey = 'io.modelcontextprotocol/serverInfo';
export const logLevelKey = 'io.modelcontextprotocol/logLevel';
export const subscriptionIdKey = 'io.modelcontextprotocol/subscriptionId';

/** Our own key: `{ progress, total?, message? }` in the `_meta` of a task, because no notification may contain it. */
export const progressKey = 'dev.holdfast/progress';
/** Our own key: calls with the same key, owner, tool and arguments return the same task. Servers list it as an extension. */
export const idempotencyKey = 'dev.holdfast/idempotency-key';
