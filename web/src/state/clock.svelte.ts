// One tick a second for every clock on the page.
class Clock {
  now = $state(Date.now())
  constructor() { setInterval(() => { if (!document.hidden) this.now = Date.now() }, 1000) }
}

export const clock = new Clock()
