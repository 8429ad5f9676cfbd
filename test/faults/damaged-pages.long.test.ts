import './damaged-pages.test.ts';
