/** The same tests, which assert their time bounds in this lane. */
import './storm.full.test.ts';
