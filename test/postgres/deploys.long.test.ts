/** The same tests, which assert their time bounds in this lane. */
import './deploys.full.test.ts';
