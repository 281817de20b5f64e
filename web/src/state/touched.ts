// What a batch of frames changed: components that read it are told once per frame of the screen.
export type Touched = Set<string>

export const LIBRARY = 'library'
export const ASKS = 'asks'
export const threadKey = (id: string) => `t:${id}`
export const itemKey = (id: string) => `i:${id}`
export const eventKey = (method: string) => `e:${method}`
