/** One owner's tasks through each dialect: how a client of it makes, reads, answers and cancels them. */
import type { Tasks } from 'holdfast';
import { expect } from 'vitest';
import { extension, subtasks } from '../../kit/wire.ts';
import { Peer as LaterPeer } from '../revision-2026-07-28/peer.ts';
import { related, taskKey } from '../sep-1686/requestor.ts';
import { opened } from './peer.ts';

export interface View {
  /** Makes a task and gives the id that the server knows it by. */
  start(name: string, input?: object): Promise<string>;
  /** The error of a look, or the status. */
  look(taskId: string): Promise<string | number>;
  outcome(taskId: string): Promise<string>;
  /** Answers the question `name`; undefined where questions come only on a stream that the client has not opened. */
  answer?(taskId: string, content: object): Promise<unknown>;
  /** Are questions put to it? Then it hears of none that is on another stream. */
  readonly isAsked: boolean;
  cancel?(taskId: string): Promise<unknown>;
}

export interface Scene {
  readonly url: string;
  readonly tasks: Tasks;
  readonly token: string;
  readonly owner: string;
}

export const dialects: Readonly<Record<string, (scene: Scene) => Promise<View>>> = {
  'SEP-1686': original,
  '2025-11-25': (scene) => session(scene),
  '2025-11-25 with SEP-2229': (scene) => session(scene, 'sep-2229'),
  '2025-11-25 with SEP-2268': (scene) => session(scene, 'sep-2268'),
  '2025-11-25 with SEP-2339': (scene) => session(scene, 'sep-2339'),
  '2025-11-25 with all three': (scene) => session(scene, 'sep-2229', 'sep-2268', 'sep-2339'),
  '2026-07-28': (scene) => later(scene, extension),
  '2026-07-28 with subtasks': (scene) => later(scene, extension, subtasks),
};

/** The requestor makes up the id, and waits for its answer; others know the task by another id. */
async function original({ url, token, tasks, owner }: Scene): Promise<View> {
  const peer = await opened(url, [], token);
  let names = 0;
  const ask = (method: string, taskId: string) => peer.request(method, { taskId, _meta: related(taskId) });
  return {
    async start(name, input = {}) {
      const listed = async () => (await tasks.list({ owner, limit: 100 })).tasks.map(({ id }) => id);
      const known = await listed();
      const _meta = { [taskKey]: { taskId: `mine ${++names}` } };
      void peer.call(name, input, { _meta }).catch(() => {});
      const made = async () => (await listed()).find((id) => !known.includes(id));
      await expect.poll(made).toBeDefined();
      return (await made())!;
    },
    look: async (taskId) => statusIn(await ask('tasks/get', taskId)),
    outcome: async (taskId) => (await ask('tasks/result', taskId)).result.content[0].text,
    isAsked: true,
  };
}

async function session({ url, token }: Scene, ...drafts: string[]): Promise<View> {
  const peer = await opened(url, drafts, token);
  const isContinuing = drafts.includes('sep-2339');
  return {
    async start(name, input = {}) {
      const { result } = await peer.call(name, input, drafts.includes('sep-2229') ? {} : { task: {} });
      return result.task.taskId;
    },
    look: async (taskId) => statusIn(await peer.get(taskId)),
    outcome: async (taskId) => {
      if (!isContinuing) return (await peer.request('tasks/result', { taskId })).result.content[0].text;
      return (await peer.request('tasks/continue', { taskId })).result.result.content[0].text;
    },
    isAsked: !isContinuing,
    async answer(taskId, content) {
      const name = { action: 'accept', content };
      if (isContinuing) return peer.request('tasks/continue', { taskId, inputResponses: { name } });
      for await (const { id, method } of peer.result(taskId))
        if (method === 'elicitation/create') await peer.answer(id, name);
    },
    cancel: (taskId) => peer.request('tasks/cancel', { taskId }),
  };
}

async function later({ url, token }: Scene, ...extensions: string[]): Promise<View> {
  const capabilities = {
    extensions: Object.fromEntries(extensions.map((name) => [name, {}])),
    elicitation: { form: {} },
  };
  const peer = new LaterPeer(url, capabilities, { authorization: `Bearer ${token}` });
  return {
    start: (name, input) => peer.start(name, input),
    look: async (taskId) => statusIn(await peer.get(taskId)),
    outcome: async (taskId) => (await peer.get(taskId)).result.result.content[0].text,
    isAsked: false,
    answer: (taskId, content) =>
      peer.request('tasks/update', { taskId, inputResponses: { name: { action: 'accept', content } } }),
    cancel: (taskId) => peer.request('tasks/cancel', { taskId }),
  };
}

function statusIn({ result, error }: { result?: { status: string }; error?: { code: number } }) {
  return result?.status ?? error!.code;
}
