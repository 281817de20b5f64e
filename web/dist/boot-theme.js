// Sets the theme before the first paint; a file of its own, because the policy of this page allows no inline script.
(function () {
  var wish = null
  try { wish = localStorage.getItem('dragoman.theme') } catch (e) { /* storage may be closed to us */ }
  var dark = wish === 'dark' || (wish !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
})()
