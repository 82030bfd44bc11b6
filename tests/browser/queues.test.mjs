// The chapter "Three queues, one graph", driven by keyboard and read from its text twin.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withExhibit } from './page.mjs';

const OPENING =
  'Step 1 of 20, at 0 µs. FIFO: lane 0 runs 0; ready: 1, 2, 3, 4. ' +
  'LIFO: lane 0 runs 4; ready: 3, 2, 1, 0. Priority: lane 0 runs 0; ready: 1, 2, 3, 4.';

test('the first frame shows one choice of each queue, without a click', () =>
  withExhibit({}, async (page, twin) => {
    await twin(OPENING);
    for (const [queue, running, ready] of [['fifo', '0', '1234'], ['lifo', '4', '3210'], ['priority', '0', '1234']]) {
      const column = page.locator(`#queue-${queue}`);
      assert.equal(await column.locator('.box.running').count(), 1);
      assert.match(await column.locator('.box.running title').textContent(), new RegExp(`^${running} .*: running$`));
      assert.equal((await column.locator('.chip').allTextContents()).join(''), ready);
    }
  }));

test('keys step, go back, jump and end', () =>
  withExhibit({}, async (page, twin) => {
    await page.keyboard.press('ArrowRight');
    await twin(/^Step 2 of 20, at 3\.3 µs\. .*Priority: lane 0 runs 5; ready: 1, 2, 3, 4\.$/);
    await page.keyboard.press('ArrowLeft');
    await twin(OPENING);
    await page.keyboard.press('End');
    await twin(/^Step 20 of 20.*FIFO: the run is over\. LIFO: the run is over\. Priority: the run is over\.$/);
    await page.keyboard.press('Home');
    await twin(/^Step 0 of 20/);
    await page.keyboard.press('Shift+ArrowRight');
    await twin(/the run is over/);
  }));

test('space plays and pauses, a button keeps its own space bar', () =>
  withExhibit({}, async (page, twin) => {
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await twin(/^Step ([2-9]|1\d) of 20/);
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Play' }).waitFor();
    await page.keyboard.press('Home');
    await page.getByRole('button', { name: 'Step', exact: true }).focus();
    await page.keyboard.press('Space');
    await twin(OPENING);
  }));

test('the inspector answers for the chosen thunk, by list, letter and click', () =>
  withExhibit({}, async (page) => {
    const why = page.locator('#why-fifo');
    assert.match(await why.textContent(), /waiting .*8 .*1, 2, 3, 4 and 7/);
    await page.locator('#thunk').selectOption('0');
    await page.locator('#why-fifo .token.running').waitFor();
    await page.locator('#thunk').evaluate((list) => list.blur());
    await page.keyboard.press('k');
    await page.waitForFunction(() => globalThis.thunkscope.state().selected === 9);
    assert.equal(await page.locator('#thunk').inputValue(), '9');
    await page.locator('#queue-lifo .box.ready').first().click();
    await page.waitForFunction(() => globalThis.thunkscope.state().selected === 0);
  }));

test('the scrubber moves the clock, and arrows on it step', () =>
  withExhibit({}, async (page, twin) => {
    const scrub = page.getByRole('slider', { name: 'Position on the clock' });
    await scrub.fill('0');
    await twin(/^Step 0 of 20/);
    await scrub.focus();
    await page.keyboard.press('ArrowRight');
    await twin(OPENING);
    assert.match(await scrub.getAttribute('aria-valuetext'), /^step 1 of 20/);
  }));

test('the list of keys opens, holds the focus, and closes', () =>
  withExhibit({}, async (page) => {
    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keys' });
    await keys.waitFor();
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.evaluate(() => globalThis.thunkscope.state().step), 1);
    await page.keyboard.press('Escape');
    await keys.waitFor({ state: 'hidden' });
    await page.keyboard.press('?');
    await keys.waitFor();
  }));

test('everything can be reached with the tab key alone', () =>
  withExhibit({}, async (page) => {
    const reached = new Set();
    for (let presses = 0; presses < 40; presses++) {
      await page.keyboard.press('Tab');
      reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.localName));
    }
    for (const stop of ['find', 'theme', 'last', 'back-event', 'back', 'play', 'step', 'event', 'next', 'scrub', 'speed', 'help', 'thunk', 'summary']) {
      assert.ok(reached.has(stop), `${stop} was not reached, only ${[...reached]}`);
    }
  }));

test('the table says what the pictures show', () =>
  withExhibit({}, async (page) => {
    const state = await page.evaluate(() => globalThis.thunkscope.state());
    for (const { queue, nodes } of state.queues) {
      for (const [id, node] of nodes.entries()) {
        assert.ok((await page.locator(`#state-${queue}-${id}`).textContent()).startsWith(node.state));
      }
    }
  }));

test('the theme follows the system until the reader chooses, and the choice is kept', () =>
  withExhibit({ colorScheme: 'dark' }, async (page) => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const night = await paper();
    const button = page.getByRole('button', { name: 'Dark' });
    assert.equal(await button.getAttribute('aria-pressed'), 'true');
    await button.click();
    const day = await paper();
    assert.notEqual(day, night);
    await page.reload();
    await page.locator('#where').waitFor({ timeout: 30_000 });
    assert.equal(await paper(), day);
  }));

for (const width of [320, 390, 1024, 1600]) {
  test(`nothing sticks out at ${width} px`, () =>
    withExhibit({ width, height: 800 }, async (page) => {
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    }));
}

test('no inline style and no inline script, so that a strict policy can hold', () =>
  withExhibit({}, async (page) => {
    assert.equal(await page.locator('[style]').count(), 0);
    assert.equal(await page.locator('style, script:not([src])').count(), 0);
  }));
