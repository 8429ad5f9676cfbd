/** The same tests; this lane asserts their time limits. */
import './storm.full.test.ts';
