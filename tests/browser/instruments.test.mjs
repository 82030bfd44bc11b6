// The Lab's other instruments: by keyboard, with what they say in words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withPage } from './page.mjs';

/** Opens an instrument and waits for its first answer. */
const at = (fragment, body, width = 1600) =>
  withPage({ fragment, width, height: 900 }, async (page) => {
    await page.locator('#panel-headline').waitFor({ timeout: 60_000 });
    await body(page);
  });

/** Waits until the headline matches. */
const says = (page, expected) => page.locator('#panel-headline').filter({ hasText: expected }).waitFor({ timeout: 60_000 });

test('a dump configuration: what is written, and why not', () =>
  at('#lab.dump', async (page) => {
    await says(page, 'A dump of data below /tmp/dump: 60 files');
    await page.locator('#field-acl').fill('{ "dump": { "dump_path": "/tmp/x", "dump_mode": "output", "dump_list": [{ "model_name": "jit_f" }] } }');
    await says(page, 'below /tmp/x: 120 files');
    await page.locator('#field-iterations').fill('3');
    await page.keyboard.press('Tab');
    await says(page, '30 files');
    await page.locator('#field-env').fill('DUMP_GE_PATH=/tmp/hidden');
    await page.getByText('not used').first().waitFor();
    // What was typed stays what it was.
    assert.equal(await page.locator('#field-env').inputValue(), 'DUMP_GE_PATH=/tmp/hidden');
  }));

test('a broken configuration is told, and the page goes on', () =>
  at('#lab.dump', async (page) => {
    await page.locator('#field-acl').fill('{ "dump": ');
    await page.locator('#panel-told .told.error').first().waitFor();
    await says(page, 'Nothing is dumped.');
    await page.locator('#field-acl').fill('');
    await page.locator('#panel-told .told').first().waitFor({ state: 'detached' });
  }));

test('freezes on a clock, by keyboard', () =>
  at('#lab.backpressure', async (page) => {
    await says(page, 'none is missing');
    const where = () => page.locator('#where').textContent();
    await page.locator('.scene.panel').focus();
    const opening = await where();
    await page.keyboard.press('Home');
    await page.waitForFunction((before) => document.getElementById('where').textContent !== before, opening);
    assert.match(await where(), /^0 ns of /);
    await page.keyboard.press('Shift+ArrowRight');
    await page.waitForFunction(() => !document.getElementById('where').textContent.startsWith('0 ns'));
    await page.keyboard.press('End');
    await page.locator('#step[aria-disabled="true"]').waitFor();
    await page.locator('#field-policy').selectOption('drop');
    await says(page, 'are missing, each with its cause');
  }));

test('it plays, and stands when it is asked to', () =>
  at('#lab.backpressure', async (page) => {
    await page.locator('.scene.panel').focus();
    const before = await page.locator('#where').textContent();
    await page.keyboard.press('Space');
    await page.locator('#play[title="Pause"]').waitFor();
    await page.waitForFunction((before) => document.getElementById('where').textContent !== before, before);
    await page.keyboard.press('Space');
    await page.locator('#play[title="Play"]').waitFor();
  }));

test('every interleaving is searched, and a defect is played', () =>
  at('#lab.explorer', async (page) => {
    await says(page, 'Nothing can go wrong here');
    await page.locator('#field-fault').selectOption('inexact-cap');
    await page.locator('#field-scenarios').selectOption('cap');
    await says(page, 'worker-cap breaks after');
    await page.locator('.scene.panel').focus();
    await page.keyboard.press('Home');
    await page.locator('#back[aria-disabled="true"]').waitFor();
  }));

test('instruments are chosen by name, and the address says which', () =>
  at('#lab.dump', async (page) => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type('backpressure');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#lab\.backpressure$/);
    await page.getByRole('radio', { name: 'Executor' }).check();
    await page.locator('#program').waitFor();
    await page.waitForURL(/#lab$/);
  }));

test('a log of a native run, dropped in', () =>
  at('#lab.log', async (page) => {
    await says(page, 'A sample, simulated');
    const header = { format: 'thunkscope.log/1', program: 'mine', digest: '0000000000000001', options: 'workers=2', seed: '1',
      clock: 'ns', lanes: 2, sequences: [{ path: 'entry', counters: [0, 1], sinks: 1 }] };
    const line = (t, kind, fields = {}) => JSON.stringify({ t, actor: 0, run: 0, kind, ...fields });
    const text = [JSON.stringify(header), line(0, 'run_start', { sequence: 0, mode: 'sequential' }),
      line(10, 'started', { node: 0 }), line(20, 'finished', { node: 0 })].join('\n');
    // Through the input for any file of the reader's: the name says that it is a log.
    await page.locator('#field-log').setInputFiles({ name: 'log.jsonl', mimeType: 'text/plain', buffer: Buffer.from(text) });
    await says(page, 'mine: 3 events on 2 lanes.');
    await page.locator('#field-log').setInputFiles({ name: 'log.jsonl', mimeType: 'text/plain', buffer: Buffer.from('nonsense') });
    await page.locator('#panel-told .told.error').waitFor();
    await says(page, 'There is nothing to show of this log.');
  }));

test('a search that is given up leaves what was there', () =>
  at('#lab.explorer', async (page) => {
    await says(page, 'Nothing can go wrong here');
    await page.locator('#field-memory').selectOption('ra');
    await page.locator('#field-reduction').selectOption('off');
    // The choice stands while the search goes on.
    assert.equal(await page.locator('#field-reduction').inputValue(), 'off');
    await page.locator('#cancel').click();
    await page.locator('#cancel').waitFor({ state: 'detached' });
    await page.waitForTimeout(600);
    assert.equal(await page.locator('#cancel').count(), 0);
    assert.equal(await page.locator('#field-reduction').inputValue(), 'on');
  }));

test('what was typed is kept while another instrument is looked at, and the link is to this one', () =>
  at('#lab.dump', async (page) => {
    await page.locator('#field-env').fill('DUMP_GE_PATH=/tmp/kept');
    await page.getByRole('radio', { name: 'Log' }).check();
    await says(page, 'A sample, simulated');
    await page.getByRole('radio', { name: 'Dump' }).check();
    await says(page, 'A dump of data');
    assert.equal(await page.locator('#field-env').inputValue(), 'DUMP_GE_PATH=/tmp/kept');
    await page.locator('.scene.panel').focus();
    await page.keyboard.press('c');
    await page.locator('#toast.shown').waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /#lab\.dump$/);
  }));

test('keys of the executor do not stop an instrument', () =>
  at('#lab.backpressure', async (page) => {
    await page.locator('.scene.panel').focus();
    await page.keyboard.press('Space');
    await page.locator('#play[title="Pause"]').waitFor();
    await page.keyboard.press('1');
    await page.keyboard.press(']');
    const before = await page.locator('#where').textContent();
    await page.waitForFunction((before) => document.getElementById('where').textContent !== before, before);
  }));
