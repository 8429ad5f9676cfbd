/** The same tests, which assert their time bounds in this lane. */
import './replicas.full.test.ts';
