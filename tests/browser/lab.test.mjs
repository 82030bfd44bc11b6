// The Lab: options, faults, files of the reader's own, whole, broken and hostile.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { state, withExhibit } from './page.mjs';

const oracle = (path) => new URL(`../oracle/${path}`, import.meta.url).pathname;
const lab = (body) => withExhibit({ fragment: '#lab', width: 1600, height: 900 }, body);
const open = (page, files) => page.locator('#file').setInputFiles(files);
const file = (name, text) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) });

test('other options make another run, in the engine', () =>
  lab(async (page, twin) => {
    await page.locator('#split').fill('1');
    await page.keyboard.press('Tab');
    await twin(/posted|lane 1/);
    await page.waitForURL(/split=1/);
    await page.reload();
    await twin(/posted|lane 1/);
    assert.equal(await page.locator('.remark').count(), 0);
    await page.locator('#reset').click();
    await twin(/^Step 1 of 20/);
    assert.equal(await page.locator('#split').inputValue(), '8');
  }));

test('a thunk fails, another never completes, and both are told', () =>
  lab(async (page, twin) => {
    await page.locator('#thunk').selectOption('0');
    await page.locator('#fault').selectOption({ label: 'fails' });
    await page.getByText('thunk 0 fails').waitFor({ timeout: 30_000 });
    await page.keyboard.press('Escape');
    await page.locator('#last').focus();
    await page.keyboard.press('End');
    await page.waitForFunction(() => globalThis.thunkscope.state().queues[0].nodes[0].state === 'failed');
    assert.match(await page.locator('.reason').first().textContent(), /failed/);
    await page.getByRole('button', { name: 'Remove: thunk 0 fails' }).click();
    await page.getByText('thunk 0 fails').waitFor({ state: 'detached' });
    await page.locator('#fault').selectOption({ label: 'never completes' });
    await page.getByText('thunk 0 never completes').waitFor();
    await page.locator('#last').focus();
    await page.keyboard.press('End');
    await page.waitForFunction(() => globalThis.thunkscope.state().queues[0].nodes[0].state === 'pending');
    await twin(/^(?!.*the run is over)/);
  }));

test('numbers out of range go back to what was there', () =>
  lab(async (page) => {
    for (const typed of ['-1', '65', '1.5']) {
      await page.locator('#workers').fill(typed);
      await page.keyboard.press('Tab');
      assert.equal(await page.locator('#workers').inputValue(), '4');
    }
  }));

for (const [what, path] of [['an executable', 'programs/nested_while/exec.bin'], ['a cache entry', 'cache/moe10-cache']]) {
  test(`${what} of one's own: verdicts, worst first, and any of its sequences`, () =>
    lab(async (page) => {
      await open(page, oracle(path));
      await page.waitForFunction(() => globalThis.thunkscope.state().program !== 'moe10' ||
        document.querySelectorAll('#program option').length === 2, null, { timeout: 30_000 });
      assert.equal(await page.locator('#program option').count(), 2);
      const cards = page.locator('.card');
      if ((await cards.count()) > 0) {
        assert.match(await cards.first().locator('.headline').textContent(), /Sequential|Concurrent|One thunk/);
        const last = cards.last();
        const name = await last.locator('.path').textContent();
        await last.click();
        await page.locator('.card[aria-current]').getByText(name, { exact: true }).waitFor();
        await page.locator('.stage-head code').getByText(name, { exact: true }).waitFor({ timeout: 30_000 });
      }
      assert.match(await page.locator('#verdict p').first().textContent(), /\w/);
      await page.locator('#program').selectOption('0');
      await page.waitForFunction(() => globalThis.thunkscope.state().sentence.includes('of 20'), null, { timeout: 30_000 });
    }));
}

test('a program is saved in our own format, and opens again', () =>
  lab(async (page) => {
    await open(page, oracle('programs/diamond_mesh/exec.bin'));
    await page.locator('#program option').nth(1).waitFor({ state: 'attached', timeout: 30_000 });
    const { program, queues } = await state(page);
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#save').click()]);
    const saved = await readFile(await download.path());
    assert.equal(JSON.parse(saved).format, 'thunkscope.program/1');
    await open(page, { name: 'again.json', mimeType: 'application/json', buffer: saved });
    await page.locator('#program option').nth(2).waitFor({ state: 'attached', timeout: 30_000 });
    const again = await state(page);
    assert.equal(again.program, program);
    assert.deepEqual(again.queues[0].nodes.map((node) => node.priority), queues[0].nodes.map((node) => node.priority));
  }));

for (const [what, files, said] of [
  ['noise', file('noise.bin', randomBytes(4_096)), /XI\d{3}/],
  ['nothing', file('empty.bin', ''), /XI\d{3}|PG\d{3}/],
  ['JSON of something else', file('other.json', '{"traceEvents": []}'), /PG\d{3}/],
  ['deep JSON', file('deep.json', '['.repeat(200_000)), /PG\d{3}/],
  ['wild numbers', file('wild.json', '{"format":"thunkscope.program/1","name":"x","allocations":[{"index":99999999999}],"sequence":{"thunks":[]}}'), /PG\d{3}/],
  ['markup in names', file('<img src=x onerror=alert(1)>.bin', 'x'), /XI\d{3}|PG\d{3}/],
]) {
  test(`${what} is refused in words, and the page goes on`, () =>
    lab(async (page, twin) => {
      await open(page, files);
      const alert = page.locator('.job [role=alert]');
      await alert.getByText(said).waitFor({ timeout: 30_000 });
      assert.equal(await page.locator('.side img').count(), 0);
      await page.keyboard.press('Escape');
      await page.locator('#step').click();
      await twin(/^Step 2 of 20/);
      await page.locator('#seed').fill('3');
      await page.keyboard.press('Tab');
      await page.locator('#reset').waitFor({ timeout: 30_000 });
      assert.equal(await alert.textContent(), '');
    }));
}

test('half an executable is refused in words', async () => {
  const whole = await readFile(oracle('programs/transformer_block/exec.bin'));
  await lab(async (page) => {
    await open(page, file('half.bin', whole.subarray(0, whole.length / 2)));
    await page.locator('.job [role=alert]').getByText(/XI\d{3}/).waitFor({ timeout: 30_000 });
  });
});

/** A program of `n` thunks in rows of 50, each after two of the row above. */
function wide(n) {
  const thunks = [];
  for (let id = 0; id < n; id++) {
    const uses = [{ allocation: 0, offset: id * 64, size: 64, access: 'write' }];
    for (const above of [id - 50, id - 47]) {
      if (id >= 50 && above >= 0) uses.push({ allocation: 0, offset: above * 64, size: 64, access: 'read' });
    }
    thunks.push({ kind: 'kernel', name: `k${id}`, uses });
  }
  return JSON.stringify({
    format: 'thunkscope.program/1', name: `wide${n}`,
    allocations: [{ index: 0, size: n * 64, kind: 'temporary' }], sequence: { thunks },
  });
}

test('a large graph is painted, small parts of it are drawn', () =>
  lab(async (page, twin) => {
    await open(page, file('wide.json', wide(1_500)));
    await twin(/FIFO: lane 0 runs/);
    await page.locator('canvas.graph').waitFor({ timeout: 30_000 });
    assert.equal(await page.locator('svg.graph').count(), 0);
    assert.equal((await state(page)).queues.length, 1);
    await page.locator('#step').focus();
    for (let presses = 0; presses < 12; presses++) await page.keyboard.press('+');
    await page.locator('svg.graph').waitFor();
    await page.keyboard.press('f');
    await page.locator('canvas.graph').waitFor();
    assert.ok((await page.locator('.rows li').count()) < 100);
  }));

test('a long job shows how far it is, and can be given up', () =>
  lab(async (page, twin) => {
    await open(page, file('huge.json', wide(40_000)));
    const cancel = page.getByRole('button', { name: 'Cancel' });
    await cancel.waitFor({ timeout: 30_000 });
    await page.getByRole('progressbar').waitFor();
    await cancel.click();
    await cancel.waitFor({ state: 'detached' });
    await page.locator('#step').click();
    await twin(/^Step 2 of 20/);
    assert.equal(await page.locator('#program option').count(), 1);
    assert.equal(await page.locator('.job [role=alert]').textContent(), '');
  }));

test('a file dropped on the chapter opens in the Lab', () =>
  withExhibit({ width: 1600 }, async (page) => {
    const bytes = [...(await readFile(oracle('cache/moe10-cache')))];
    await page.evaluate((bytes) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(bytes)], 'dropped'));
      for (const type of ['dragover', 'drop']) {
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
      }
    }, bytes);
    await page.locator('#program option').nth(1).waitFor({ state: 'attached', timeout: 30_000 });
    assert.equal(await page.locator('.dropping').count(), 0);
  }));
