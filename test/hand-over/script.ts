/**
 * A host without tasks and without a model: it calls tools, and whatever it is told to call next. All that it knows by
 * itself is how to sign.
 */
import { isHandedOver } from './stage.ts';

export interface Result {
  readonly content: readonly unknown[];
  readonly structuredContent?: {
    readonly status?: string;
    readonly questions?: readonly { readonly key: string; readonly schema: object }[];
    readonly next?: { readonly tool: string; readonly arguments: { readonly taskId: string } };
  };
  readonly isError?: boolean;
}

export type Call = (tool: string, input: object) => Promise<Result>;

/** The names of the tools that it called, and what the last one gave. */
export async function followed(
  call: Call,
  tool: string,
  input: object,
): Promise<{ readonly called: readonly string[]; readonly result: Result }> {
  const called = [tool];
  let result = await call(tool, input);
  while (isHandedOver(result)) {
    const { next, questions = [] } = result.structuredContent!;
    const answers = Object.fromEntries(
      questions.map(({ key }) => [key, { action: 'accept', content: { name: 'Ada' } }]),
    );
    called.push(next!.tool);
    result = await call(next!.tool, {
      taskId: next!.arguments.taskId,
      ...(questions.length > 0 && { answers }),
    });
  }
  return { called, result };
}
