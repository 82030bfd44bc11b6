// One browser and one server for the tests of a file, and a page that notices whatever goes wrong in it.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';
import { serve } from './server.mjs';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The folder of the release build. */
export const dist = process.env.DIST ?? new URL('../../dist', import.meta.url).pathname;

let browser;
let server;

/** The browser of `CHROME`, headless. */
export const launch = () =>
  chromium.launch({ executablePath: process.env.CHROME ?? '/usr/bin/chromium', args: FLAGS });

// Scripts that are no tests use `launch` alone.
if (process.env.NODE_TEST_CONTEXT) before(async () => {
  server = await serve(dist, '/a/b/');
  browser = await launch();
});

if (process.env.NODE_TEST_CONTEXT) after(async () => {
  await browser?.close();
  await server?.close();
});

/**
 * Opens the page, runs `body(page)`, and fails when the page logged an error, threw, or asked for something that is
 * not there or not here.
 *
 * @param {{ fragment?: string, width?: number, height?: number, colorScheme?: 'light' | 'dark',
 *   javaScriptEnabled?: boolean, reducedMotion?: 'reduce' | 'no-preference', at?: { url: string } }} options
 *   `at` is another server than the one of all tests.
 */
export async function withPage(options, body) {
  const { fragment = '', width = 1024, height = 768, colorScheme = 'light', javaScriptEnabled = true, reducedMotion = 'reduce', at = server } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    javaScriptEnabled,
    reducedMotion,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  try {
    const page = await context.newPage();
    const faults = [];
    page.on('pageerror', (error) => faults.push(`exception: ${error.stack ?? error}`));
    page.on('console', (message) => {
      if (message.type() === 'error') faults.push(`console: ${message.text()} (${message.location().url})`);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(at.url) && !/^(data|blob):/.test(request.url())) {
        faults.push(`request to elsewhere: ${request.url()}`);
      }
    });
    page.on('requestfailed', (request) => {
      // Without scripts the browser refuses to load them, and says so here. What a reload or the end of the test cuts
      // off (an icon that comes late) is no fault of the page's.
      if (javaScriptEnabled && request.failure()?.errorText !== 'net::ERR_ABORTED') faults.push(`failed: ${request.url()} ${request.failure()?.errorText}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400) faults.push(`status ${response.status()}: ${response.url()}`);
    });
    await page.goto(at.url + fragment, { waitUntil: 'load' });
    await body(page);
    if (faults.length > 0) throw new Error(faults.join('\n'));
  } finally {
    await context.close();
  }
}

/** Waits until the exhibit has taken the place of its placeholder. */
export async function exhibit(page) {
  await page.locator('#where, #panel-headline').first().waitFor({ timeout: 60_000 });
}

/** The page once its exhibit stands; `twin` waits until the text twin matches, and hands it over. */
export const withExhibit = (options, body) =>
  withPage(options, async (page) => {
    await exhibit(page);
    const twin = async (expected, seconds = 30) => {
      const matches = typeof expected === 'string' ? (text) => text === expected : (text) => expected.test(text);
      let text;
      for (let tries = 0; tries < seconds * 50; tries++) {
        text = await page.locator('#twin').textContent();
        if (matches(text)) return text;
        await page.waitForTimeout(20);
      }
      return assert.fail(`the twin reads "${text}", not ${expected}`);
    };
    await body(page, twin);
  });

/** What the page says about itself. */
export const state = (page) => page.evaluate(() => globalThis.thunkscope.state());
