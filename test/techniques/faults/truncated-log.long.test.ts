import './truncated-log.full.test.ts';
