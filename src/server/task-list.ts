export * from '../hosting/task-list.ts';
