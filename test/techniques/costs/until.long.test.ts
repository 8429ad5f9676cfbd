/** The same tests, which assert their time bounds in this lane. */
import './until.full.test.ts';
