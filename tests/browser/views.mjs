// Every view of the page, and how to get there: for the screenshots and for the accessibility tests.

const press = (...keys) => async (page) => {
  for (const key of keys) await page.keyboard.press(key);
};

const oracle = (path) => new URL(`../oracle/${path}`, import.meta.url).pathname;

/** Opens a file of one's own and waits until `there` is. */
const open = (files, there) => async (page) => {
  await page.locator('#file').setInputFiles(files);
  await page.locator(there).first().waitFor({ state: 'attached', timeout: 30_000 });
};

/** `fragment`: of the address; `show`: what to do then; `whole`: the picture shows all of the page. */
export const VIEWS = [
  { name: 'read', whole: true },
  { name: 'read-middle', show: press('ArrowRight', 'ArrowRight', 'ArrowRight', 'k') },
  { name: 'read-open', whole: true, show: async (page) => {
    for (const summary of await page.locator('#stage summary').all()) await summary.click();
  } },
  { name: 'keys', show: press('?') },
  { name: 'palette', show: async (page) => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type('look');
  } },
  { name: 'lab', fragment: '#lab' },
  { name: 'lab-one', fragment: '#lab', show: press('3', 'Shift+ArrowRight', 'ArrowLeft', 'ArrowLeft', '+') },
  { name: 'lab-sequences', fragment: '#lab', show: open(oracle('programs/nested_while/exec.bin'), '.card') },
  { name: 'lab-large', fragment: '#lab', show: open(oracle('programs/transformer_block/exec.bin'), '#program option:nth-child(2)') },
  { name: 'lab-split', fragment: '#v1.p=moe10&split=1&jitter=30&seed=7&fails=entry:6&at=60&sel=6&view=lab', show: async (page) => {
    await page.locator('.faults li').waitFor({ state: 'attached', timeout: 30_000 });
  } },
  { name: 'lab-refused', fragment: '#lab', show: open(
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Not an executable.') }, '.told.error') },
  { name: 'lab-dump', fragment: '#lab.dump' },
  { name: 'lab-dump-mistakes', fragment: '#lab.dump', show: async (page) => {
    await page.locator('#field-acl').fill('{ "dump": { "dump_pth": "/tmp" } }');
    await page.locator('#panel-told .told').first().waitFor();
  } },
  { name: 'lab-backpressure', fragment: '#lab.backpressure' },
  { name: 'lab-explorer', fragment: '#lab.explorer' },
  { name: 'lab-log', fragment: '#lab.log' },
  { name: 'lab-counterexample', fragment: '#lab.explorer', show: async (page) => {
    await page.locator('#field-fault').selectOption('inexact-cap');
    await page.locator('#field-scenarios').selectOption('cap');
    await page.getByText(/breaks after/).waitFor({ timeout: 60_000 });
  } },
  { name: 'note', fragment: '#v1.p=moe10&at=21&sel=5&d=00000000000000aa' },
];
