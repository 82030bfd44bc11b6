// The engine in a page of somebody else's: www/embed.html, and the functions as a script calls them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { dist, withPage } from './page.mjs';

const oracle = (path) => new URL(`../oracle/${path}`, import.meta.url).pathname;

/** The example page, once it has shown its sample. */
const withEmbed = (body) =>
  withPage({ fragment: 'embed.html' }, async (page) => {
    await page.locator('body[data-ready]').waitFor({ timeout: 30_000 });
    await body(page);
  });

/** Calls one function of the module in the page; what it throws comes back as its fields. */
const call = (page, name, ...args) =>
  page.evaluate(async ({ name, args }) => {
    const module = await import('./thunkscope-api.js');
    await module.default();
    try {
      return { value: module[name](...args.map((arg) => (arg?.bytes ? new Uint8Array(arg.bytes) : arg))) };
    } catch (error) {
      return { thrown: { kind: error.constructor.name, name: error.name, message: error.message, ...error } };
    }
  }, { name, args });

test('the example page shows three answers about its sample, under the strict policy', () =>
  withEmbed(async (page) => {
    assert.match(await page.locator('#headline').textContent(), /entry: /);
    const rows = await page.locator('#runs tr').allTextContents();
    assert.deepEqual(rows.map((row) => row.match(/^[a-z]+/)[0]), ['fifo', 'lifo', 'priority']);
    assert.match(await page.locator('#edges').textContent(), /waits for/);
  }));

test('a file of the visitor takes the place of the sample; a broken one is refused and the page goes on', () =>
  withEmbed(async (page) => {
    const choose = (file) => page.locator('#file').setInputFiles(file);
    await choose({ name: 'noise', mimeType: '', buffer: Buffer.from('\u0000not a program') });
    await page.getByRole('alert').filter({ hasText: /^error XI002/ }).waitFor();
    await choose(oracle('programs/nested_while/exec.bin'));
    await page.locator('#headline').filter({ hasNotText: /^sample/ }).waitFor();
    assert.equal(await page.locator('#error').textContent(), '');
  }));

test('plain objects in, plain objects out; 64-bit numbers are texts', () =>
  withEmbed(async (page) => {
    const bytes = [...await readFile(oracle('programs/moe10/exec.bin'))];
    const { value: { program } } = await call(page, 'read', { bytes }, { name: 'mine' });
    assert.equal(program.format, 'thunkscope.program/1');
    assert.equal(program.name, 'mine');
    const { value: log } = await call(page, 'simulate', program, { seed: '18446744073709551615', executor: { queue: 'lifo' } });
    assert.equal(log.header.seed, '18446744073709551615');
    assert.equal(log.events.filter(({ kind }) => kind === 'started').length, 10);
    const { value: report } = await call(page, 'explain', { bytes });
    assert.match(report.digest, /^[0-9a-f]+$/);
    const { value: shown } = await call(page, 'exhibit', program, { runs: [{}] });
    assert.equal(shown.thunks.length, 10);
    assert.equal(shown.runs.length, 1);
  }));

/** What is wrong with the call: `code path`. */
async function refused(page, name, args, expected) {
  const { thrown } = await call(page, name, ...args);
  assert.ok(thrown, `${name} took ${JSON.stringify(args)}`);
  assert.equal(thrown.name, 'Diagnostic', thrown.message);
  assert.equal(`${thrown.code} ${thrown.path}`, expected);
  assert.ok(thrown.expected, 'says what was expected');
}

test('wrong input throws a diagnostic, and the module lives on', () =>
  withEmbed(async (page) => {
    await refused(page, 'explain', [5], 'AP001 program');
    await refused(page, 'explain', ['{'], 'PG001 line 1 column 1');
    await refused(page, 'simulate', ['{}', { workers: 1 }], 'AP002 options');
    await refused(page, 'simulate', ['{}', { seed: -1 }], 'AP002 options');
    await refused(page, 'read', [{ bytes: [0, 1, 2] }], 'XI002 byte 0');
    const { value } = await call(page, 'explain', await readFile(oracle('../../www/programs/moe10.json'), 'utf8'));
    assert.equal(value.sequences.length, 1);
  }));

test('the types say what the module does', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'thunkscope-types-'));
  try {
    const use = await readFile(new URL('types/use.ts', import.meta.url), 'utf8');
    const api = join(dist, 'thunkscope-api.js');
    await writeFile(join(folder, 'use.ts'), use.replaceAll("'./thunkscope-api.js'", `'${api}'`));
    const tsc = new URL('node_modules/typescript/bin/tsc', import.meta.url).pathname;
    const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2022,dom'];
    await promisify(execFile)(process.execPath, [tsc, ...options, join(folder, 'use.ts')])
      .catch(({ stdout }) => assert.fail(stdout));
  } finally {
    await rm(folder, { recursive: true });
  }
});
