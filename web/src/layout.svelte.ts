// What lies over the page on small screens, and the sheets that come and go.
class Layout {
  navOpen = $state(false)
  panelOpen = $state(false)
  palette = $state<string | null>(null)
  help = $state(false)
  find = $state(false)
}
export const layout = new Layout()
