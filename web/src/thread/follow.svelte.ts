// Two modes of scrolling. At the end, new content keeps the bottom in view; free, nothing moves under the reader.
// Any move upwards by a person frees at once, and so does selecting text; content that grows or shrinks never does. Reaching the bottom, the pill or a key binds again.

const NEAR_PX = 40

export class Follow {
  atEnd = $state(true)
  #box: HTMLElement | null = null
  #lastTop = 0
  #dragging = false

  attach(box: HTMLElement, content: HTMLElement): () => void {
    this.#box = box
    const free = () => { if (box.scrollHeight > box.clientHeight + NEAR_PX) this.atEnd = false }
    const wheel = (event: WheelEvent) => { if (event.deltaY < 0) free() }
    const key = (event: KeyboardEvent) => { if (['PageUp', 'ArrowUp', 'Home'].includes(event.key)) free() }
    const scroll = () => {
      const up = box.scrollTop < this.#lastTop - 2
      this.#lastTop = box.scrollTop
      if (this.#distance() <= NEAR_PX) this.atEnd = true
      else if (up && this.#dragging) this.atEnd = false
    }
    // Only a press beside the content can be on the bar.
    const press = (event: PointerEvent) => { this.#dragging = event.target === box }
    const release = () => { this.#dragging = false }
    const select = () => { const range = getSelection(); if (range && !range.isCollapsed && box.contains(range.anchorNode)) free() }
    const grown = new ResizeObserver(() => { if (this.atEnd) this.toEnd() })
    grown.observe(content)
    grown.observe(box)
    box.addEventListener('wheel', wheel, { passive: true })
    box.addEventListener('touchmove', free, { passive: true })
    box.addEventListener('keydown', key)
    box.addEventListener('scroll', scroll, { passive: true })
    box.addEventListener('pointerdown', press)
    addEventListener('pointerup', release)
    document.addEventListener('selectionchange', select)
    return () => {
      grown.disconnect()
      box.removeEventListener('wheel', wheel)
      box.removeEventListener('touchmove', free)
      box.removeEventListener('keydown', key)
      box.removeEventListener('scroll', scroll)
      box.removeEventListener('pointerdown', press)
      removeEventListener('pointerup', release)
      document.removeEventListener('selectionchange', select)
      this.#box = null
    }
  }

  toEnd(): void {
    this.atEnd = true
    const box = this.#box
    if (!box || this.#distance() < 1) return
    box.scrollTop = box.scrollHeight
  }

  #distance(): number {
    const box = this.#box
    return box ? box.scrollHeight - box.clientHeight - box.scrollTop : 0
  }
}
