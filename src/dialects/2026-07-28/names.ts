/** Names and error codes of the Tasks extension (SEP-2663) and of its revision. */
export const revision = '2026-07-28';
export const extension = 'io.modelcontextprotocol/tasks';

/** JSON-RPC error codes of this revision. */
export const missingCapability = -32021;
export const unsupportedVersion = -32022;
/** Our own error code for a caller over a limit, outside the range that the specification reserves. */
export const limitExceeded = -31029;

export const protocolVersionKey = 'io.modelcontextprotocol/protocolVersion';
export const clientInfoKey = 'io.modelcontextprotocol/clientInfo';
export const clientCapabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
export const serverInfoKey = 'io.modelcontextprotocol/serverInfo';
export const logLevelKey = 'io.modelcontextprotocol/logLevel';
export const subscriptionIdKey = 'io.modelcontextprotocol/subscriptionId';

/** Our own key in the `_meta` of a task: `{ progress, total?, message? }`. No notification may contain progress. */
export const progressKey = 'dev.holdfast/progress';
/**
 * Our own key in the `_meta` of a call. A repeated call with the same value, owner, tool and arguments returns the same
 * task. Servers that support it list this key as an extension.
 */
export const idempotencyKey = 'dev.holdfast/idempotency-key';
