// How many menus and dialogs are open: single keys mean nothing then.
export const menus = { open: 0 }
