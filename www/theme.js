// Dark or light: what the reader chose here before, else what the system says. Runs before the first paint.
(() => {
  const root = document.documentElement;
  root.classList.add('scripts'); // What needs them is shown.
  const system = matchMedia('(prefers-color-scheme: dark)');
  const stored = () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null; // Storage may be forbidden; the choice then lasts as long as the page.
    }
  };
  const dark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
  const choice = stored();
  if (choice === 'dark' || choice === 'light') root.dataset.theme = choice;

  addEventListener('DOMContentLoaded', () => {
    const button = document.getElementById('theme');
    const show = () => {
      button.setAttribute('aria-pressed', String(dark()));
      dispatchEvent(new Event('themechange')); // Pictures that are painted are painted again.
    };
    show();
    system.addEventListener('change', show);
    button.hidden = false;
    button.addEventListener('click', () => {
      root.dataset.theme = dark() ? 'light' : 'dark';
      try {
        localStorage.setItem('theme', root.dataset.theme);
      } catch {
        // See above.
      }
      show();
    });
  });
})();
