/** Notices when a message has reached what all objects share. */
const shared = { Object, Array, Function, String, Number, Boolean, Error, Promise, Map };

function members(): string[] {
  return Object.entries(shared).flatMap(([name, { prototype }]) =>
    Reflect.ownKeys(prototype).map((key) => `${name}.prototype.${String(key)}`),
  );
}

const atFirst = new Set(members());

export function newMembers(): string[] {
  return members().filter((member) => !atFirst.has(member));
}
