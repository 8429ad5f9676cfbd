/** The same tests, which assert their time bounds in this lane. */
import './store-failures.full.test.ts';
