import './damaged-pages.full.test.ts';
