/**
 * Requests over the transport of a connected client, past the client: the SDK's client refuses the result that says
 * "this is a task now", so ext-tasks asks its host for a way around it. Ids are strings here and numbers in the SDK.
 */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { DispatchError, type RawClientDispatch } from '@modelcontextprotocol/ext-tasks/client';

type Response = Awaited<ReturnType<RawClientDispatch>>;
type Dispatched = Parameters<RawClientDispatch>[0];

/** To be called when the client is connected: it takes its place in front of the client's own listener. */
export function rawDispatch(transport: Transport): RawClientDispatch {
  const pending = new Map<unknown, (response: Response) => void>();
  const toClient = transport.onmessage!;
  transport.onmessage = (message: JSONRPCMessage, extra) => {
    const resolve = 'method' in message ? undefined : pending.get(message.id);
    if (!resolve) return toClient(message, extra);
    resolve(responseOf(message));
  };
  let last = 0;
  return async (request: Dispatched, { signal, context } = {}) => {
    const id = `raw-${++last}`;
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const onAbort = () => reject(new DispatchError('The request was aborted.'));
    const onStreamEnd = () => reject(new DispatchError('The stream ended without an answer.', true));
    pending.set(id, resolve);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const message = { jsonrpc: '2.0', id, ...(request as object) } as JSONRPCMessage;
      const sent = transport.send(message, {
        ...(signal && { requestSignal: signal }),
        ...(context?.headers && { headers: context.headers }),
        onRequestStreamEnd: onStreamEnd,
      });
      sent.catch((cause: Error) => reject(new DispatchError(cause.message, true, { cause })));
      return await promise;
    } finally {
      pending.delete(id);
      signal?.removeEventListener('abort', onAbort);
    }
  };
}

function responseOf(message: JSONRPCMessage): Response {
  return 'error' in message
    ? ({ kind: 'error', error: message.error } as Response)
    : ({ kind: 'result', result: (message as { result: unknown }).result } as Response);
}
