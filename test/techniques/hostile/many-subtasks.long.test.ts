/** The long lane takes ten times as many subtasks as the short one. */
import './trees.full.test.ts';
