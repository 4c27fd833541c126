// Puts the chosen theme on the page before the first paint. A file of its own because our content policy allows no inline scripts.
try {
  const theme = localStorage.getItem('carrel.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Storage may be forbidden; the system's theme is a fine answer.
}
