// Which thread is being renamed.
class Renaming { threadId = $state<string | null>(null) }
export const renaming = new Renaming()
