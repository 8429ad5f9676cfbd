/** The same tests, which assert their time bounds in this lane. */
import './draining.full.test.ts';
