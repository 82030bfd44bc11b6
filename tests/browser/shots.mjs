// Screenshots of every view, in both themes and at three widths, into out/. Run by `cargo xtask shots`.
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { launch } from './page.mjs';
import { serve } from './server.mjs';
import { VIEWS } from './views.mjs';

const WIDTHS = [390, 1024, 1600];
const HEIGHTS = { 390: 844, 1024: 768, 1600: 900 };

const here = new URL('.', import.meta.url).pathname;
const dist = process.env.DIST ?? join(here, '../../dist');
const out = join(here, 'out');
const only = process.env.ONLY; // A part of the names, to take few.

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const server = await serve(dist, '/a/b/');
const browser = await launch();
let count = 0;
try {
  for (const theme of ['light', 'dark']) {
    for (const width of WIDTHS) {
      for (const view of VIEWS) {
        const name = `${view.name}-${width}-${theme}`;
        if (only && !name.includes(only)) continue;
        const context = await browser.newContext({
          viewport: { width, height: HEIGHTS[width] },
          colorScheme: theme,
          reducedMotion: 'reduce',
        });
        const page = await context.newPage();
        await page.goto(server.url + (view.fragment ?? ''), { waitUntil: 'load' });
        await page.locator('#where, #panel-headline').first().waitFor({ timeout: 60_000 });
        await view.show?.(page);
        await page.screenshot({ path: join(out, `${name}.png`), fullPage: view.whole ?? false });
        await context.close();
        count += 1;
      }
    }
  }
} finally {
  await browser.close();
  await server.close();
}
console.log(`${count} pictures in ${out}`);
