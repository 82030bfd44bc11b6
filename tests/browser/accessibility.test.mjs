// axe finds nothing on any view, in both themes and at three widths.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { withExhibit } from './page.mjs';
import { VIEWS } from './views.mjs';

const AXE = await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

for (const colorScheme of ['light', 'dark']) {
  for (const width of [390, 1024, 1600]) {
    test(`axe finds nothing at ${width} px, ${colorScheme}`, async () => {
      for (const { name, fragment, show } of VIEWS) {
        await withExhibit({ width, height: 900, colorScheme, fragment }, async (page) => {
          await show?.(page);
          // As the debugger runs it: the page's own policy stays in force.
          await page.evaluate(AXE);
          const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
          const found = violations.flatMap(({ id, nodes }) =>
            nodes.map((node) => `${name}: ${id}: ${node.target.join(' ')}: ${node.failureSummary}`));
          assert.deepEqual(found, []);
        });
      }
    });
  }
}
