// Starts the module that trunk names in the page. A file of its own, because the page allows no inline script.
const { module, wasm } = document.querySelector('script[data-wasm]').dataset;
const here = (path) => new URL(path, document.baseURI).href;

try {
  const { default: init } = await import(here(module));
  await init({ module_or_path: here(wasm) });
} catch (error) {
  console.error(error);
  document.getElementById('panic-detail').textContent = String(error);
  document.getElementById('panic').hidden = false;
}
