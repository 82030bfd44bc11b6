// How a page of somebody else uses the engine. Nothing here is used by Thunkscope's own page.
import init, { explain, exhibit, read, simulate } from './thunkscope-api.js';

const $ = (id) => document.getElementById(id);

function row(...cells) {
  const line = document.createElement('tr');
  line.append(...cells.map((text) => Object.assign(document.createElement('td'), { textContent: text })));
  return line;
}

/** Shows what the engine says about a program: bytes, text or object. */
function show(program) {
  $('error').textContent = '';
  try {
    const report = explain(program);
    const [worst] = report.sequences;
    $('headline').textContent = `${report.program}, ${worst.path}: ${worst.headline}`;
    $('runs').replaceChildren(...['fifo', 'lifo', 'priority'].map((queue) => {
      const { events } = simulate(program, { executor: { queue }, mode: 'concurrent' });
      const starts = events.filter(({ kind, run }) => kind === 'started' && run === 0).map(({ node }) => node);
      return row(queue, events.length, events.at(-1).t, starts.join(' '));
    }));
    const { edges, thunks } = exhibit(program);
    const label = (node) => `${node} ${thunks[node].label}`;
    $('edges').textContent = edges.length === 0
      ? 'No thunk waits for another.'
      : edges.map(([from, to, , reason]) => `${label(to)} waits for ${label(from)} (${reason})`).join('; ');
  } catch (error) {
    // An error of the engine has code, path, value, expected and hint; the message has them all.
    if (error.name !== 'Diagnostic') throw error;
    $('error').textContent = error.message;
  }
}

await init();
const sample = await (await fetch('programs/moe10.json')).text();
show(read(sample, { name: 'sample' }).program);
$('file').addEventListener('change', async ({ target }) => {
  const [file] = target.files;
  if (file) show(new Uint8Array(await file.arrayBuffer()));
});
document.body.dataset.ready = 'yes';
