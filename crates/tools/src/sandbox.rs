//! The sandbox: what a command can reach, enforced by the kernel.

/// How commands are fenced in on this machine.
#[derive(Clone, Debug)]
pub struct Sandbox {
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Bubblewrap,
    Landlock,
    /// Nothing holds: everything is asked for.
    Nothing,
}

impl Sandbox {
    /// No fence at all.
    pub fn nothing() -> Self {
        Self {
            mode: Mode::Nothing,
        }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }
}
