/** Every state of every screen of the dashboard, and how to reach it. */
import type { Page } from 'playwright-core';
import { type Look, looks } from '../../test/dashboard/browser/chromium.ts';
import { examples, present } from '../../test/dashboard/browser/examples.ts';
import { moreExamples, withEvents } from './examples.ts';
import { busy, idle } from './fleet.ts';
import type { PictureServer, Trouble } from './server.ts';
import type { World } from './world.ts';

export interface Screen {
  readonly name: string;
  /** The address relative to the dashboard. */
  readonly at: string;
  /** The selector to wait for before the picture is taken. */
  readonly shows: string;
  readonly world?: 'busy' | 'idle';
  readonly trouble?: Trouble;
  readonly isSignedOut?: true;
  /** The user's actions to reach the state. */
  readonly arrange?: (page: Page, server: PictureServer) => Promise<void>;
  /** The whole page, or only the visible part. */
  readonly extent: 'page' | 'window';
  /** Crops the picture to these elements. */
  readonly parts?: readonly string[];
  readonly looks: readonly Required<Look>[];
}

export const worlds: Readonly<Record<'busy' | 'idle', World>> = {
  busy: {
    now: present,
    ...busy,
    details: [
      ...examples.map((one) => (one.task.id === 'task-crashed' ? withEvents(one) : one)),
      ...moreExamples,
    ],
  },
  idle: { now: present, ...idle, details: [] },
};

const everywhere = looks;
const plain = looks.slice(0, 1);
/** A light desktop and a dark phone. */
const both = looks.filter(({ screen, colours }) => (screen === 'desktop') === (colours === 'light'));

const window = 'window';
const page = 'page';

const signIn: readonly Screen[] = [
  {
    name: 'sign-in',
    at: '',
    isSignedOut: true,
    shows: 'h1:text("Sign in")',
    extent: window,
    looks: both,
  },
  {
    name: 'sign-in-wrong-token',
    at: '',
    isSignedOut: true,
    arrange: async (page) => {
      await page.getByLabel('Token').fill('not-the-token');
      await page.getByRole('button', { name: 'Sign in' }).click();
    },
    shows: '[role=alert]',
    extent: window,
    looks: plain,
  },
];

const overview: readonly Screen[] = [
  { name: 'overview', at: '', shows: 'h2:text("Tools")', extent: page, looks: everywhere },
  { name: 'overview-empty', at: '', world: 'idle', shows: '.state-title', extent: window, looks: plain },
  { name: 'overview-loading', at: '', trouble: 'silent', shows: '.loading', extent: window, looks: plain },
  {
    name: 'overview-offline',
    at: '',
    arrange: async (page, server) => {
      await page.waitForSelector('h2:text("Tools")');
      server.trouble('away');
    },
    shows: '.banner:has-text("Next attempt in 2 s")',
    extent: window,
    looks: both,
  },
  { name: 'overview-error', at: '', trouble: 'broken', shows: '[role=alert]', extent: window, looks: plain },
];

const list: readonly Screen[] = [
  {
    name: 'list',
    at: '?view=tasks',
    shows: '.total:has-text("64")',
    extent: window,
    looks: everywhere,
  },
  {
    name: 'list-filtered',
    at: '?view=tasks&status=failed&status=lost&age=24h',
    shows: '.total:has-text("task")',
    extent: window,
    looks: plain,
  },
  {
    name: 'list-no-match',
    at: '?view=tasks&text=lighthouse',
    shows: '.total:has-text("task")',
    extent: window,
    looks: plain,
  },
  {
    name: 'list-empty',
    at: '?view=tasks',
    world: 'idle',
    shows: '.total:has-text("task")',
    extent: window,
    looks: plain,
  },
  {
    name: 'list-loading',
    at: '?view=tasks',
    trouble: 'silent',
    shows: '.loading',
    extent: window,
    looks: plain,
  },
  {
    name: 'list-offline',
    at: '?view=tasks',
    trouble: 'away',
    shows: '.banner:has-text("Next attempt in 2 s")',
    extent: window,
    looks: plain,
  },
  {
    name: 'keyboard-help',
    at: '?view=tasks',
    arrange: async (page) => {
      await page.waitForSelector('.total:has-text("task")');
      await page.keyboard.press('?');
    },
    shows: 'dialog[open]',
    extent: window,
    looks: plain,
  },
];

const task: readonly Screen[] = [
  { name: 'task-running', at: '?task=task-running', shows: '.timeline', extent: page, looks: plain },
  { name: 'task-crash', at: '?task=task-crashed', shows: '.timeline', extent: page, looks: everywhere },
  { name: 'task-asking', at: '?task=task-asking', shows: 'form', extent: page, looks: everywhere },
  {
    name: 'task-asking-problems',
    at: '?task=task-asking',
    arrange: async (page) => {
      await page.getByLabel('Where to send it').fill('ann at example');
      await page.getByLabel('Copies').fill('2000');
      await page.getByRole('button', { name: 'Send answer' }).click();
    },
    shows: '.form-problems:focus',
    extent: page,
    looks: plain,
  },
  { name: 'task-asking-link', at: '?task=task-link', shows: '.timeline', extent: page, looks: plain },
  { name: 'task-asking-model', at: '?task=task-sampling', shows: '.timeline', extent: page, looks: plain },
  {
    name: 'task-completed',
    at: '?task=task-completed',
    shows: 'img',
    extent: page,
    looks: everywhere,
  },
  { name: 'task-failed', at: '?task=task-exhausted', shows: '.timeline', extent: page, looks: both },
  { name: 'task-subtasks', at: '?task=task-family', shows: '.timeline', extent: page, looks: plain },
  { name: 'task-many-steps', at: '?task=task-many', shows: '.timeline', extent: page, looks: plain },
  { name: 'task-cancelled', at: '?task=task-cancelled', shows: '.timeline', extent: page, looks: plain },
  { name: 'task-lost', at: '?task=task-lost', shows: 'h2', extent: page, looks: plain },
  { name: 'task-hidden', at: '?task=task-hidden', shows: '.timeline', extent: page, looks: plain },
  { name: 'task-not-found', at: '?task=task-gone', shows: '.state-title', extent: window, looks: plain },
  {
    name: 'task-confirm-cancel',
    at: '?task=task-crashed',
    arrange: (page) => page.getByRole('button', { name: 'Cancel', exact: true }).click(),
    shows: 'dialog[open]',
    extent: window,
    looks: plain,
  },
  {
    name: 'task-events',
    at: '?task=task-crashed',
    arrange: (page) => page.locator('summary:has-text("Events")').click(),
    shows: '.facts-table',
    extent: page,
    looks: plain,
  },
];

/** The picture for README.md. */
const readme: Screen = {
  name: 'readme',
  at: '?task=task-crashed',
  shows: '.timeline',
  extent: page,
  parts: ['.task-head', '.timeline'],
  looks: plain,
};

export const screens: readonly Screen[] = [...signIn, ...overview, ...list, ...task, readme];

/** The file name of a picture. */
export function pictureName(of: Screen, { screen, colours }: Required<Look>): string {
  return of === readme ? 'readme.png' : `${of.name}.${screen}-${colours}.png`;
}
