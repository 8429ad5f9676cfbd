/** The numbers of JSON-RPC that no dialect changes. */
export const parseError = -32700;
export const invalidRequest = -32600;
export const methodNotFound = -32601;
export const invalidParams = -32602;
export const internalError = -32603;
/** For refusals that have to do with HTTP alone, as the SDK words them. */
export const transportRefusal = -32000;
/** Likewise: a session that is not known, or a caller that is not. */
export const notAdmitted = -32001;
