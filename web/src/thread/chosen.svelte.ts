// The thread that is about to be deleted, while a person is asked once more, because it cannot be taken back; and the one that is being moved.
import type { Row } from '../state/model'
class Chosen { row = $state<Row | null>(null) }
export const deleting = new Chosen()
export const moving = new Chosen()
