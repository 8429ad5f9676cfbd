/** The JSON-RPC error codes that are the same in all dialects. */
export const parseError = -32700;
export const invalidRequest = -32600;
export const methodNotFound = -32601;
export const invalidParams = -32602;
export const internalError = -32603;
/** For errors of the HTTP transport, as in the SDK. */
export const transportRefusal = -32000;
/** For an unknown session or an unauthenticated caller, as in the SDK. */
export const notAdmitted = -32001;
