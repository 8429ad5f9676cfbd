/**
 * A real PgBouncer in transaction mode in front of a Postgres, on 127.0.0.1 and a free port. It is a program of the
 * system (Debian: apt-get install pgbouncer). PgBouncer refuses to run as root: then it runs as `nobody`.
 */
import { spawn } from 'node:child_process';
import { accessSync, chownSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from '../kit/port.ts';

const nobody = { uid: 65_534, gid: 65_534 };

/** Where the program is; undefined if it is not installed. */
export const bouncerProgram = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  .map((folder) => join(folder, 'pgbouncer'))
  .find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

export const bouncerMissing = 'PgBouncer is not installed (Debian: apt-get install pgbouncer)';

/** Gives the URL that leads through it to the same database. */
export async function startBouncer(postgresUrl: string): Promise<{ url: string; stop(): Promise<void> }> {
  if (!bouncerProgram) throw new Error(bouncerMissing);
  const identity = process.getuid?.() === 0 ? nobody : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bouncer-'));
  const port = await freePort();
  const { hostname, port: serverPort, username, password } = new URL(postgresUrl);
  const [settings, users] = [join(folder, 'pgbouncer.ini'), join(folder, 'users')];
  writeFileSync(users, `"${username}" "${password}"\n`);
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = 8
max_client_conn = 500
server_login_retry = 1
`,
  );
  if (identity) for (const path of [folder, settings, users]) chownSync(path, identity.uid, identity.gid);
  const child = spawn(bouncerProgram, ['-q', settings], {
    ...identity,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr!.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-4_000);
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const stop = async () => {
    process.off('exit', end);
    end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  while (!(await answers(port))) {
    if (child.exitCode !== null) {
      await stop();
      throw new Error(`PgBouncer ended with ${child.exitCode}: ${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const url = new URL(postgresUrl);
  url.port = String(port);
  return { url: url.href, stop };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
