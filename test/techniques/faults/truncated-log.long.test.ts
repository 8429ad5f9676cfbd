import './truncated-log.test.ts';
