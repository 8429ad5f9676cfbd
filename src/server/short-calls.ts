/**
 * Calls whose head may be all there is to them: in a session they are answered without the SDK's look at every part of
 * them, which takes longer than the rest. Only what is right in every respect goes this way; everything else, and what
 * has more to it than a head, goes on the long way, where the SDK and the tasks are.
 */
import type { Caller } from '../hosting/caller.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import type { Outcome } from '../model/outcome.ts';
import type { Owner } from '../model/task.ts';
import type { Binding, Called } from './binding.ts';
import type { Headed } from './tool-call.ts';

type RequestId = string | number;

/** What a message came over, and where else it can go. */
interface Session {
  /** Undefined as long as the session is not open, or if there is none. */
  readonly caller: () => Caller | undefined;
  readonly send: (answer: object) => Promise<void>;
  /** Takes it the long way. */
  readonly goOn: () => void;
}

interface Begun {
  readonly headed: Promise<Headed>;
  readonly abort: AbortController;
}

export class ShortCalls {
  readonly #binding: Binding;
  /** Those that neither are answered nor have been taken up on the long way, by the id of their request. */
  readonly #begun = new Map<unknown, Begun>();

  constructor(binding: Binding) {
    this.#binding = binding;
  }

  answer(message: object, session: Session): void {
    const request = plainCallIn(message);
    const called = request && this.#binding.called('tools/call', request.params);
    const caller = called?.head && !this.#begun.has(request!.id) ? session.caller() : undefined;
    const head = caller && headOf(this.#binding, called!, caller);
    if (head) void this.#answer(request!.id, head, caller, session).catch(() => {});
    else session.goOn();
  }

  async #answer(
    id: RequestId,
    head: NonNullable<ReturnType<typeof headOf>>,
    { limiter, owner }: Caller,
    session: Session,
  ): Promise<void> {
    const abort = new AbortController();
    const { signal } = abort;
    const allowed = limiter?.spend(owner, 'calls');
    const headed = allowed ? allowed.then(() => head(owner, signal)) : head(owner, signal);
    this.#begun.set(id, { headed, abort });
    // What went wrong is worded on the long way.
    const given = await headed.catch(() => undefined);
    if (signal.aborted) return this.giveUp(id);
    if (!given || !('outcome' in given) || !isOfText(given.outcome)) return session.goOn();
    this.#begun.delete(id);
    await session.send({ jsonrpc: '2.0', id, result: given.outcome.value });
  }

  /** What the long way goes on with, if the call has begun. */
  taken(id: unknown): Promise<Headed> | undefined {
    const begun = this.#begun.get(id);
    this.#begun.delete(id);
    return begun?.headed;
  }

  cancel(id: unknown): void {
    this.#begun.get(id)?.abort.abort();
  }

  /** Nobody goes on with it. */
  giveUp(id: unknown): void {
    void this.taken(id)?.then(
      (headed) => 'abandon' in headed && headed.abandon(),
      () => {},
    );
  }

  close(): void {
    for (const { abort } of this.#begun.values()) abort.abort();
  }
}

/** The head of a call that does not become a task at once. */
export function headOf(
  binding: Binding,
  { tool, input, head }: Called,
  caller: Caller,
): ((owner: Owner, signal: AbortSignal) => Promise<Headed>) | undefined {
  const { task, before } = tool;
  if (!head || before || task === 'required' || (task === 'always' && caller.sender.takesTasks))
    return undefined;
  return async (owner, signal) => {
    const { calls } = await binding.served();
    return (await calls.mayJoin(tool, input, caller)) ? { mayJoin: true } : head(owner, signal);
  };
}

/** A call in a session that says nothing but what is called, and with what. */
function plainCallIn(message: object): { readonly id: RequestId; readonly params: JsonObject } | undefined {
  if (!('method' in message) || message.method !== 'tools/call' || !('id' in message)) return undefined;
  const { id, params } = message as { id: unknown; params?: unknown };
  if ((typeof id !== 'string' && typeof id !== 'number') || !isJsonObject(params)) return undefined;
  const { name, arguments: input, ...rest } = params;
  const isPlain = typeof name === 'string' && (input === undefined || isJsonObject(input));
  return isPlain && Object.keys(rest).length === 0 ? { id, params } : undefined;
}

/** Is it a result of which nothing has to be checked? With all others the SDK is more careful. */
export function isOfText(outcome: Outcome): outcome is Outcome & { kind: 'result'; value: JsonObject } {
  if (outcome.kind !== 'result' || !isJsonObject(outcome.value)) return false;
  const { content, isError, structuredContent, ...rest } = outcome.value;
  return (
    Array.isArray(content) &&
    content.every(isText) &&
    (isError === undefined || typeof isError === 'boolean') &&
    (structuredContent === undefined || isJsonObject(structuredContent)) &&
    Object.keys(rest).length === 0
  );
}

function isText(block: unknown): boolean {
  if (!isJsonObject(block)) return false;
  const { type, text, ...rest } = block;
  return type === 'text' && typeof text === 'string' && Object.keys(rest).length === 0;
}
