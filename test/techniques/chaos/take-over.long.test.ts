/** The same tests, which assert their time bounds in this lane. */
import './take-over.test.ts';
