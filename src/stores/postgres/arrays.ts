/** A column of values on its way to the server: written out here, because there are many, and `pg` asks each what it is. */

/**
 * `names` are escaped one by one. `texts` are what JSON or encryption made, in which control characters never stand as
 * they are: they are only joined, and an empty one stands for none.
 */
export type ColumnType = 'integer' | 'bigint' | 'double precision' | 'boolean' | 'xid' | 'names' | 'texts';

type Value = string | number | boolean | null;

const between = '\u001f';

/** The parameter as an array, in SQL. */
export function arrayIn(type: ColumnType, parameter: string): string {
  if (type === 'texts') return `string_to_array(${parameter}::text, chr(31), '')`;
  return `${parameter}::${type === 'names' ? 'text' : type}[]`;
}

export function arrayOf<Row>(type: ColumnType, rows: readonly Row[], value: (row: Row) => Value): string {
  if (type === 'texts') return rows.map((row) => value(row) ?? '').join(between);
  const literal = type === 'names' ? quoted : String;
  let written = '{';
  for (const [index, row] of rows.entries()) {
    const one = value(row);
    if (index > 0) written += ',';
    written += one === null ? 'NULL' : literal(one);
  }
  return `${written}}`;
}

function quoted(text: Value): string {
  return `"${(text as string).replace(/["\\]/g, '\\$&')}"`;
}
