// The page around the exhibit: modes, palette, single events, log, links; by keyboard, read from the text twin.
import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dist, state, withExhibit, withPage } from './page.mjs';
import { serve } from './server.mjs';

const current = (page) => page.locator('nav [aria-current]').textContent();

test('L is the Lab, R the chapter, and the address says so', () =>
  withExhibit({}, async (page) => {
    assert.equal(await current(page), 'Read');
    await page.keyboard.press('l');
    await page.locator('.side').waitFor();
    assert.equal(await current(page), 'Lab');
    assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Lab');
    await page.waitForURL(/#lab$/);
    await page.keyboard.press('r');
    await page.locator('.side').waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1, name: 'Three queues, one graph' }).waitFor();
    await page.getByRole('link', { name: 'Lab' }).focus();
    await page.keyboard.press('Enter');
    await page.locator('.side').waitFor();
  }));

test('a digit shows one queue at the same time of the clock', () =>
  withExhibit({}, async (page, twin) => {
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('2');
    await twin('Step 1 of 11, at 0 µs. LIFO: lane 0 runs 4; ready: 3, 2, 1, 0.');
    await page.keyboard.press('0');
    await twin(/^Step 1 of 20, at 0 µs\. FIFO/);
  }));

test('the palette finds by name, runs on Enter, and closes on Escape', () =>
  withExhibit({}, async (page, twin) => {
    await page.keyboard.press('Control+k');
    const box = page.getByRole('combobox', { name: 'Find a command or a thunk' });
    await box.waitFor();
    await page.keyboard.type('expert 3');
    await page.keyboard.press('Enter');
    await box.waitFor({ state: 'hidden' });
    await page.waitForFunction(() => globalThis.thunkscope.state().selected === 3);
    await page.keyboard.press('/');
    await page.keyboard.type('show');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const chosen = page.locator('#palette-list [aria-selected=true]');
    assert.match(await chosen.textContent(), /^Show LIFO/);
    assert.equal(await box.getAttribute('aria-activedescendant'), await chosen.getAttribute('id'));
    await page.keyboard.press('Enter');
    await twin(/^Step 1 of 11.*LIFO/);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('nothing like this');
    await page.getByText('Nothing of that name.').waitFor();
    await page.keyboard.press('Escape');
    await box.waitFor({ state: 'hidden' });
  }));

test('a full stop is one event, a comma one back, and the log follows', () =>
  withExhibit({ fragment: '#lab', width: 1600 }, async (page) => {
    const { position } = await state(page);
    await page.keyboard.press('.');
    await page.waitForFunction((at) => globalThis.thunkscope.state().position === at, position + 1);
    const row = page.locator('.rows [aria-current=step]');
    assert.equal(await row.getAttribute('aria-posinset'), String(position + 1));
    await page.keyboard.press(',');
    await page.keyboard.press(',');
    await page.waitForFunction((at) => globalThis.thunkscope.state().position === at, position - 1);
    await page.keyboard.press('End');
    assert.match(await row.textContent(), /iteration 0 is over/);
    await page.locator('.rows li').first().click();
    assert.notEqual((await state(page)).position, 138);
  }));

test('speed is a list and two keys', () =>
  withExhibit({}, async (page, twin) => {
    const speed = page.getByRole('combobox', { name: 'Speed' });
    assert.equal(await speed.inputValue(), '2');
    for (let presses = 0; presses < 9; presses++) await page.keyboard.press(']');
    assert.equal(await speed.inputValue(), '5');
    await page.keyboard.press('Space');
    await twin(/the run is over/);
  }));

test('a link opens where it was copied', () =>
  withExhibit({ fragment: '#lab' }, async (page, twin) => {
    await page.keyboard.press('2');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('j');
    await page.keyboard.press('c');
    await page.getByText('Link copied').waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(link, /#v1\.p=moe10&/);
    assert.ok(link.length < 2_000);
    const before = await state(page);
    await page.goto('about:blank');
    await page.goto(link);
    await twin(before.sentence);
    assert.deepEqual(await state(page), before);
    assert.equal(await current(page), 'Lab');
    assert.equal(await page.locator('.remark').count(), 0);
  }));

test('the address follows the reader, and a plain page keeps a plain one', () =>
  withExhibit({}, async (page) => {
    await page.waitForTimeout(600);
    assert.ok(!page.url().includes('#'));
    await page.keyboard.press('ArrowRight');
    await page.waitForURL(/#v1\.p=moe10&at=\d+&sel=8&d=[0-9a-f]{16}$/);
  }));

test('a link made for another state opens with a note', () =>
  withExhibit({ fragment: '#v1.p=moe10&at=21&sel=5&d=00000000000000aa' }, async (page) => {
    await page.locator('#note').getByText('the link was made by another version').waitFor();
    const { position, selected } = await state(page);
    assert.deepEqual([position, selected], [21, 5]);
    await page.getByRole('button', { name: 'Dismiss' }).click();
    assert.equal(await page.locator('.remark').count(), 0);
  }));

for (const [what, fragment, note] of [
  ['a file', '#v1.file=model.bin&program=0000000000000abc', /model\.bin, a file that the link does not hold/],
  ['a chapter of another version', '#v1.p=later', /later, which this version/],
  ['nonsense', '#v1.p=moe10&at=-3', /EX006/],
  ['a newer version', '#v9.x', /EX006/],
]) {
  test(`a link about ${what} is told, and the page goes on`, () =>
    withExhibit({ fragment }, async (page, twin) => {
      await page.locator('#note').getByText(note).waitFor();
      await page.keyboard.press('ArrowRight');
      await twin(/^Step 2 of 20/);
    }));
}

test('nothing of the engine is fetched before it is needed', () =>
  withExhibit({}, async (page) => {
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.reload();
    await page.locator('#where').waitFor();
    await page.keyboard.press('l');
    await page.locator('.side').waitFor();
    const engine = asked.filter((path) => /worker|engine|api/.test(path));
    assert.deepEqual(engine, []);
    assert.equal(asked.filter((path) => path.endsWith('.wasm')).length, 1);
  }));

test('it works from a folder of another name', async () => {
  const folder = join(await mkdtemp(join(tmpdir(), 'page-')), 'another name');
  await cp(dist, folder, { recursive: true });
  const server = await serve(folder, '/another%20place/');
  try {
    await withExhibit({ at: server, fragment: '#lab', width: 1600 }, async (page, twin) => {
      await page.locator('#workers').fill('1');
      await page.keyboard.press('Enter');
      await page.locator('#reset').waitFor({ timeout: 30_000 });
      await twin(/^Step 1 of 20/);
    });
  } finally {
    await server.close();
    await rm(folder, { recursive: true });
  }
});

test('nothing moves for those who asked for that', async () => {
  const moving = (page) => page.evaluate(() => document.getAnimations().length);
  await withExhibit({ reducedMotion: 'reduce' }, async (page) => assert.equal(await moving(page), 0));
  await withExhibit({ reducedMotion: 'no-preference' }, async (page) => assert.ok((await moving(page)) > 0));
});

test('without scripts there is the chapter and its picture', () =>
  withPage({ javaScriptEnabled: false }, async (page) => {
    await page.getByRole('heading', { level: 1, name: 'Three queues, one graph' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Lab' }).isVisible(), false);
    const picture = page.locator('#stage img').first();
    assert.ok(await picture.evaluate((image) => image.complete && image.naturalWidth > 0));
    assert.match(await picture.getAttribute('alt'), /\w+ \w+/);
  }));
