/** The same tests, which assert their time bounds in this lane. */
import './observing.full.test.ts';
