export * from '../hosting/task-names.ts';
