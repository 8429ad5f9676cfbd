/**
 * Decorators of a database. One table lists which methods of the ports read and which write. The compiler checks that
 * the table is complete, so no decorator can omit a new method of a port.
 */
import type { Database } from '../../ports/queue.ts';
import type { Store } from '../../ports/store.ts';

type Ports = Omit<Database, 'onDisconnected' | 'close'>;
type PortName = keyof Ports;
/** `kept`: forwarded without `Around`. This applies to values, subscriptions and `close`. */
type Kind = 'read' | 'write' | 'kept';

const members: { readonly [P in PortName]: Readonly<Record<keyof Ports[P], Kind>> } = {
  store: {
    create: 'write',
    update: 'write',
    claim: 'write',
    get: 'read',
    family: 'read',
    asking: 'read',
    childIds: 'read',
    list: 'read',
    count: 'read',
    commitsOf: 'read',
    journal: 'read',
    due: 'read',
    leaveOut: 'write',
    size: 'read',
    subscribe: 'kept',
    close: 'kept',
  },
  queue: {
    name: 'kept',
    usualLeaseMs: 'kept',
    isAlive: 'read',
    orphans: 'read',
    renew: 'write',
    isolate: 'write',
    backlog: 'read',
    onWork: 'kept',
  },
  secrets: { get: 'read' },
  sessions: { save: 'write', get: 'read', delete: 'write', forget: 'write' },
  calls: { undelivered: 'read', ofRequest: 'read', take: 'write', leave: 'write', delivered: 'write' },
  audit: { append: 'write', read: 'read', prune: 'write' },
  queries: { list: 'read', count: 'read', overview: 'read', history: 'read' },
};

const portNames: readonly PortName[] = Object.keys(members) as PortName[];

type Act = () => Promise<unknown>;

/** Called instead of each method that reads or writes. Calls `act` to run the method. */
export interface Around {
  read(act: Act): Promise<unknown>;
  write(act: Act): Promise<unknown>;
}

/** The same database with wrapped calls of these ports, by default of all ports. It has no `onDisconnected`. */
export function decorated(database: Database, around: Around, ports = portNames): Database {
  const { store, queue, secrets, sessions, calls, audit, queries } = database;
  const wrapped: Partial<Ports> = Object.fromEntries(
    ports.map((name) => [name, decoratedPort(database[name], members[name], around)]),
  );
  const close = () => database.close();
  return { store, queue, secrets, sessions, calls, audit, queries, ...wrapped, close };
}

function decoratedPort(port: object, kinds: Readonly<Record<string, Kind>>, around: Around): object {
  const found = port as Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;
  const own = Object.entries(kinds).map(([name, kind]) => {
    if (typeof found[name] !== 'function') return [name, found[name]];
    // Ports may be classes with private fields, so each method is called on the port itself.
    if (kind === 'kept') return [name, (...args: readonly unknown[]) => found[name]!(...args)];
    return [name, (...args: readonly unknown[]) => around[kind](() => found[name]!(...args))];
  });
  return Object.fromEntries(own);
}

/** The same database, with a copy of these ports whose methods can be replaced. */
export function forwarded(database: Database, ports: readonly PortName[]): Database {
  return decorated(database, { read: (act) => act(), write: (act) => act() }, ports);
}

/** The same database with some commands of its store replaced. */
export function withCommands(
  database: Database,
  commands: Partial<Pick<Store, 'create' | 'update' | 'claim'>>,
): Database {
  const same = forwarded(database, ['store']);
  return { ...same, store: { ...same.store, ...commands } };
}
