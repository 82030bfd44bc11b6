import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withPage } from './page.mjs';

test('the page starts from a sub-path of a plain static host', () =>
  withPage({}, async (page) => {
    assert.match(await page.title(), /^Thunkscope/);
    const heading = page.getByRole('heading', { level: 1 });
    await heading.waitFor({ timeout: 30_000 });
    assert.match(await heading.innerText(), /\S/);
  }));

test('the page does not need cross-origin isolation', () =>
  withPage({}, async (page) => {
    assert.equal(await page.evaluate(() => globalThis.crossOriginIsolated), false);
    await page.getByRole('heading', { level: 1 }).waitFor({ timeout: 30_000 });
  }));
