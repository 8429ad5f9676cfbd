/** What a server's list of tools says about calling them. */
import { isJsonObject, type Json, type JsonObject } from '../model/json.ts';
import type { Message } from '../requestor/remote-dialect.ts';
import { Pages } from './listing.ts';

export interface ToolHints {
  readonly taskSupport: 'required' | 'optional' | 'forbidden';
  /** Arguments that have to be repeated in headers, with the names of those. */
  readonly headers: Readonly<Record<string, string>>;
}

const unknown: ToolHints = { taskSupport: 'forbidden', headers: {} };

export class ToolList {
  readonly #request: (message: Message) => Promise<JsonObject>;
  #hints: Promise<ReadonlyMap<string, ToolHints>> | undefined;

  constructor(request: (message: Message) => Promise<JsonObject>) {
    this.#request = request;
  }

  /** The list has changed, or another server answers now. */
  forget(): void {
    this.#hints = undefined;
  }

  async hints(tool: string): Promise<ToolHints> {
    this.#hints ??= this.#read();
    const known = this.#hints;
    known.catch(() => {
      if (this.#hints === known) this.#hints = undefined;
    });
    return (await known).get(tool) ?? unknown;
  }

  async #read(): Promise<ReadonlyMap<string, ToolHints>> {
    const hints = new Map<string, ToolHints>();
    const pages = new Pages('its list of tools');
    for (let cursor: string | undefined; ; ) {
      const params = cursor === undefined ? {} : { cursor };
      const page = await this.#request({ method: 'tools/list', params });
      const tools = Array.isArray(page.tools) ? page.tools : [];
      for (const tool of tools)
        if (isJsonObject(tool) && typeof tool.name === 'string') hints.set(tool.name, hintsOf(tool));
      cursor = pages.next(page.nextCursor, tools.length);
      if (cursor === undefined) return hints;
    }
  }
}

function hintsOf({ execution, inputSchema }: JsonObject): ToolHints {
  const support = isJsonObject(execution) ? execution.taskSupport : undefined;
  const properties =
    isJsonObject(inputSchema) && isJsonObject(inputSchema.properties) ? inputSchema.properties : {};
  const headers = Object.entries(properties).flatMap(([name, property]) => {
    const header = isJsonObject(property) ? property['x-mcp-header'] : undefined;
    return typeof header === 'string' ? [[name, `mcp-param-${header.toLowerCase()}`]] : [];
  });
  return {
    taskSupport: support === 'required' || support === 'optional' ? support : 'forbidden',
    headers: Object.fromEntries(headers),
  };
}

/** Arguments as the headers that repeat them. What a header cannot carry is sent in base 64. */
export function headersFor({ headers }: ToolHints, input: JsonObject): Record<string, string> {
  const repeated = Object.entries(headers).filter(
    ([name]) => input[name] !== undefined && input[name] !== null,
  );
  return Object.fromEntries(repeated.map(([name, header]) => [header, encoded(input[name]!)]));
}

function encoded(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?');
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
