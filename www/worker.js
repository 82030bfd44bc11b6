// The engine, off the main thread: passes messages between the page and a module. Both sides speak the protocol of
// core/src/exhibit/protocol.rs. A module worker from a file of its own: it works from any path, and under a strict
// content security policy. Which module: what stands behind the `?`.
const module = location.search === '?instruments' ? './thunkscope-api.js' : './thunkscope-engine.js';

const post = (message, bytes) => postMessage({ message, bytes }, bytes ? [bytes.buffer] : []);

// A pause lets messages in. Not setTimeout, which waits 4 ms.
const channel = new MessageChannel();
let resume = () => {};
channel.port1.onmessage = () => resume();
const pause = () => new Promise((done) => { resume = done; channel.port2.postMessage(0); });

let engine;
const stopped = (error) => {
  // After a failure the module answers nothing any more.
  postMessage({ stopped: String(error?.stack ?? error) });
};

const ready = import(module).then(async ({ default: init, Engine }) => {
  await init();
  engine = new Engine(post, pause);
  postMessage({ ready: true });
});
ready.catch(stopped);

onmessage = ({ data }) => ready.then(() => engine.receive(data.message, data.bytes)).catch(stopped);
addEventListener('unhandledrejection', (event) => stopped(event.reason));
addEventListener('error', (event) => stopped(event.error ?? event.message));
