// A static file server as plain as the plainest host: files below one path, nothing else. Its only header beyond the
// type is the policy that the page promises to live under.
import { createServer } from 'node:http';
import { readFile, stat } from 'node:fs/promises';
import { extname, join, normalize, sep } from 'node:path';

/** What the page may do: the same as the meta tag of the release build, which `cargo xtask build` writes. */
export const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; " +
  "img-src 'self' data:; worker-src 'self'";

const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/**
 * Serves `folder` below `base` ("/a/b/") on a free port of the loopback address.
 * `requests` collects every path that was asked for, with the status of the answer.
 */
export async function serve(folder, base) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const answer = (status, body, type = 'text/plain') => {
      requests.push({ path: pathname, status });
      response.writeHead(status, { 'Content-Type': type, 'Content-Security-Policy': POLICY }).end(body);
    };
    if (!pathname.startsWith(base)) return answer(404, 'outside the base path');
    const relative = normalize(decodeURIComponent(pathname.slice(base.length)));
    if (relative.split(sep).includes('..')) return answer(404, 'outside the folder');
    let file = join(folder, relative);
    try {
      if ((await stat(file)).isDirectory()) file = join(file, 'index.html');
      answer(200, await readFile(file), TYPES[extname(file)] ?? 'application/octet-stream');
    } catch {
      answer(404, 'no such file');
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}${base}`,
    requests,
    close: () => new Promise((resolve) => { server.closeAllConnections(); server.close(resolve); }),
  };
}
