import './check-node.ts';

export { openSqlite, type SqliteDatabase } from './stores/sqlite/open.ts';
