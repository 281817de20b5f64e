// How many menus and dialogs are open: single keys mean nothing then.
class Menus { open = $state(0) }
export const menus = new Menus()
