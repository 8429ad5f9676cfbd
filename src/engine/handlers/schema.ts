/** Uses the schemas of authors: checks values with them, and converts them to JSON Schema for peers. */
import { isJsonObject, type JsonObject } from '../../model/json.ts';
import { mayQuoteSecrets, type SecretFields } from '../../model/redaction.ts';
import type { Schema } from '../../model/schema.ts';
import { InvalidInput } from '../replay/recorded-error.ts';

export type { InputOf, OutputOf, Schema } from '../../model/schema.ts';

/**
 * Returns the value as parsed by the schema. Throws `InvalidInput` if it does not match; the message omits the details
 * of `secrets`. `what` is the subject of the message.
 */
export async function parse<Output>(
  schema: Schema<unknown, Output>,
  value: unknown,
  what: string,
  secrets: SecretFields = [],
): Promise<Output> {
  const checked = await schema['~standard'].validate(value);
  if (!checked.issues) return checked.value;
  const problems = checked.issues.map(({ message, path = [] }) => {
    const parts = path.map((part) => (typeof part === 'object' ? part.key : part));
    const place = parts.map(String).join('.');
    const problem = mayQuoteSecrets(parts, secrets) ? 'does not fit (the details are secret)' : message;
    return { place, text: place === '' ? problem : `${place}: ${problem}` };
  });
  const places = [...new Set(problems.map(({ place }) => place))];
  throw new InvalidInput(
    `${what} does not fit its schema: ${problems.map(({ text }) => text).join('; ')}.`,
    places,
  );
}

/** The JSON Schema of the values that the schema accepts. Throws if its library cannot convert it. */
export function toJsonSchema(schema: Schema, what: string): JsonObject {
  const standard = schema?.['~standard'];
  if (typeof standard !== 'object' || standard === null)
    throw new InvalidInput(
      `${what} has no schema. Pass one from a library with Standard Schema, such as z.object({ … }) of zod.`,
    );
  const { jsonSchema, vendor } = standard;
  if (!jsonSchema)
    throw new InvalidInput(
      `${what} has a schema (by ${vendor}) that cannot be converted to JSON Schema. Use zod 4.2 or later, or another library with Standard JSON Schema.`,
    );
  const converted: unknown = jsonSchema.input({ target: 'draft-2020-12' });
  if (isJsonObject(converted)) return converted;
  throw new InvalidInput(`${what} has a schema (by ${vendor}) whose JSON Schema is not an object.`);
}
