// What keys and bars ask of the transcript that is on the screen.
class Transcripts {
  toEnd: () => void = () => undefined
  toTop: () => void = () => undefined
  focus: () => void = () => undefined
  showAsk: (id: number) => void = () => undefined
}
export const transcripts = new Transcripts()
