/** The JSON-RPC error codes that are the same in all dialects. */
export const parseError = -32700;
export const invalidRequest = -32600;
export const methodNotFound = -32601;
export const invalidParams = -32602;
export const internalError = -32603;
/** For requests that the HTTP transport refuses. The SDK uses the same code. */
export const transportRefusal = -32000;
/** For an unknown session or a caller without permission. The SDK uses the same code. */
export const notAdmitted = -32001;
