/** Every dialect as one caller speaks it, down to the bytes that come back. */
import { opened } from '../dialects/drafts/peer.ts';
import { related, taskKey } from '../dialects/sep-1686/requestor.ts';
import { extension, headersOf, type Message, requestOf, subtasks } from '../kit/wire.ts';

export type Answer = Awaited<ReturnType<typeof read>>;

export interface Face {
  /** Where there are sessions. */
  readonly sessionId?: string;
  send(message: Message, signal?: AbortSignal): Promise<Response>;
  /** The stream that belongs to no request, where there is one. */
  stream?(signal: AbortSignal): Promise<Response>;
  /** The params of a method about a task, in the words of the dialect. */
  about(taskId: string): Record<string, unknown>;
  /** What makes a call ask for a task, named so if the dialect lets callers name them. */
  asTask(name: string): Record<string, unknown>;
}

export interface Place {
  readonly url: string;
  readonly token: string;
}

export const faces: Readonly<Record<string, (place: Place) => Promise<Face>>> = {
  '2026-07-28': (place) => later(place, extension),
  '2026-07-28 with subtasks': (place) => later(place, extension, subtasks),
  '2025-11-25': (place) => session(place),
  'SEP-2229': (place) => session(place, 'sep-2229'),
  'SEP-2268': (place) => session(place, 'sep-2268'),
  'SEP-2339': (place) => session(place, 'sep-2339'),
  'all drafts': (place) => session(place, 'sep-2229', 'sep-2268', 'sep-2339'),
  'SEP-1686': original,
};

async function session({ url, token }: Place, ...drafts: readonly string[]): Promise<Face> {
  const peer = await opened(url, drafts, token);
  return {
    sessionId: peer.sessionId!,
    send: (message, signal) => peer.post(message, signal),
    stream: (signal) => peer.listen(signal),
    about: (taskId) => ({ taskId }),
    asTask: () => ({ task: {} }),
  };
}

async function original(place: Place): Promise<Face> {
  return {
    ...(await session(place)),
    about: (taskId) => ({ taskId, _meta: related(taskId) }),
    asTask: (taskId) => ({ _meta: { [taskKey]: { taskId } } }),
  };
}

async function later({ url, token }: Place, ...extensions: readonly string[]): Promise<Face> {
  const named = Object.fromEntries(extensions.map((name) => [name, {}]));
  const capabilities = { extensions: named, elicitation: { form: {} } };
  return {
    send({ id, method = '', params = {}, ...message }, signal) {
      return fetch(url, {
        method: 'POST',
        headers: headersOf(method, params, token),
        body: JSON.stringify({ ...requestOf(id!, method, params, capabilities), ...message }),
        ...(signal && { signal }),
      });
    },
    about: (taskId) => ({ taskId }),
    asTask: () => ({}),
  };
}

/** All of a response but its date, or as much as comes before there is enough of it. */
export async function read(response: Response, isEnough?: (text: string) => boolean) {
  const { date: _, ...headers }: Record<string, string> = Object.fromEntries(response.headers);
  let text = '';
  if (response.body)
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (isEnough?.(text)) break;
    }
  return { status: response.status, headers, text };
}

/** Answers with times and ids that are new each time, made alike. */
export function alike({ text, headers, ...answer }: Answer): Answer {
  const { 'content-length': _, ...rest } = headers;
  return {
    ...answer,
    headers: rest,
    text: text.replaceAll(/\b[a-z2-7]{32}\b/g, 'ID').replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'),
  };
}
