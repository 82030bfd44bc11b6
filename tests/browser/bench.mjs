// How quick the page is: run by `cargo xtask bench-web`, prints figures against the bars of the project.
//
// interactive   from the start of the navigation until the exhibit answers, median of nine fresh contexts
// frame         time between two animation frames while the exhibit plays at each speed, 95th percentile
// long tasks    tasks of more than 50 ms on the main thread, from the start of the load on
// memory        JavaScript heap and WebAssembly memory at the beginning and at the end of playing in a circle
import { dist, launch } from './page.mjs';
import { serve } from './server.mjs';

const SECONDS = Number(process.env.SECONDS ?? 120);
const LOADS = 9;

const quantile = (values, q) => values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];
const ms = (value) => `${value.toFixed(1)} ms`;
const mb = (bytes) => `${(bytes / 1048576).toFixed(2)} MB`;

// Before anything of the page runs: notes when the exhibit stands, long tasks, and each module's memory.
function watch() {
  globalThis.longTasks = [];
  new PerformanceObserver((list) => list.getEntries().forEach(({ startTime, duration }) => globalThis.longTasks.push([startTime, duration])))
    .observe({ type: 'longtask', buffered: true });
  globalThis.memories = [];
  for (const name of ['instantiate', 'instantiateStreaming']) {
    const original = WebAssembly[name];
    WebAssembly[name] = async (...words) => {
      const result = await original(...words);
      const { exports } = result.instance ?? result;
      if (exports.memory) globalThis.memories.push(exports.memory);
      return result;
    };
  }
  const seen = new MutationObserver(() => {
    if (!document.getElementById('where')) return;
    seen.disconnect();
    // After the frame in which it stands, it answers.
    requestAnimationFrame(() => setTimeout(() => { globalThis.interactive = performance.now(); }));
  });
  seen.observe(document, { childList: true, subtree: true });
}

const server = await serve(dist, '/a/b/');
const browser = await launch();
const visit = async (fragment = '') => {
  const context = await browser.newContext({ viewport: { width: 1600, height: 900 }, reducedMotion: 'no-preference' });
  const page = await context.newPage();
  await page.addInitScript(watch);
  // A new window starts pages of the browser's own, which are not what is measured.
  await page.waitForTimeout(2_000);
  await page.goto(server.url + fragment);
  await page.waitForFunction(() => globalThis.interactive);
  return page;
};
const bars = [];
const bar = (name, value, holds) => bars.push({ name, value, holds });

try {
  await (await visit()).context().close();
  const loads = [];
  let worst = 0;
  for (let load = 0; load < LOADS; load++) {
    const page = await visit();
    loads.push(await page.evaluate(() => globalThis.interactive));
    await page.waitForTimeout(300);
    worst = Math.max(worst, ...(await page.evaluate(() => globalThis.longTasks)).map(([, duration]) => duration));
    await page.context().close();
  }
  const interactive = quantile(loads, 0.5);
  bar('interactive', `${ms(interactive)} (median of ${LOADS}; ${ms(Math.min(...loads))} to ${ms(Math.max(...loads))}), bar 300 ms`, interactive < 300);
  bar('long tasks while loading', worst ? `longest ${ms(worst)}, bar 50 ms` : 'none', worst <= 50);

  const page = await visit();
  const session = await page.context().newCDPSession(page);
  const memory = async () => {
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    const wasm = await page.evaluate(() => globalThis.memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0));
    const nodes = (await session.send('Memory.getDOMCounters')).nodes;
    return { usedSize, wasm, nodes };
  };
  await page.evaluate(() => { globalThis.longTasks.length = 0; });
  // Plays for a while from the beginning, over and over, and notes every frame.
  const play = (seconds) => page.evaluate(async (seconds) => {
    const frames = [];
    const end = performance.now() + seconds * 1_000;
    let last = await new Promise(requestAnimationFrame);
    while (performance.now() < end) {
      if (document.getElementById('play').title === 'Play') document.getElementById('play').click();
      const now = await new Promise(requestAnimationFrame);
      frames.push(now - last);
      last = now;
    }
    if (document.getElementById('play').title === 'Pause') document.getElementById('play').click();
    return frames;
  }, seconds);
  for (const [speed, name] of [['2', '1×'], ['5', '8×']]) {
    await page.locator('#speed').selectOption(speed);
    const frames = await play(10);
    const p95 = quantile(frames, 0.95);
    bar(`frame while playing at ${name}`, `p95 ${ms(p95)}, median ${ms(quantile(frames, 0.5))}, longest ${ms(Math.max(...frames))}, ${frames.length} frames; bar 17 ms`, p95 <= 17);
  }
  const before = await memory();
  await play(SECONDS);
  const after = await memory();
  const grown = after.usedSize - before.usedSize + after.wasm - before.wasm;
  bar(`memory over ${SECONDS} s at 8×`, `heap ${mb(before.usedSize)} → ${mb(after.usedSize)}, wasm ${mb(before.wasm)} → ${mb(after.wasm)}, elements ${before.nodes} → ${after.nodes}`, grown < 524_288);
  const long = await page.evaluate(() => globalThis.longTasks);
  const longest = Math.max(0, ...long.map(([, duration]) => duration));
  bar('long tasks while playing', long.length ? `${long.length}, longest ${ms(longest)}, bar 50 ms` : 'none', longest <= 50);
} finally {
  await browser.close();
  await server.close();
}
for (const { name, value, holds } of bars) console.log(`${holds ? 'holds ' : 'MISSED'}  ${name.padEnd(32)} ${value}`);
