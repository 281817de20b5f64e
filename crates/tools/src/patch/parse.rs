//! Reads the text of a patch: which files it adds, deletes and updates, and by which hunks.

/// The most files and hunks of one patch.
const SECTIONS_MAX: usize = 200;
const HUNKS_MAX: usize = 2000;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const FILE_END: &str = "*** End of File";

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PatchSection<'a> {
    pub path: &'a str,
    pub change: SectionChange<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SectionChange<'a> {
    Add(Vec<&'a str>),
    Delete,
    Update {
        moved_to: Option<&'a str>,
        hunks: Vec<PatchHunk<'a>>,
    },
}

/// Lines that belong together, as they are and as they shall be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PatchHunk<'a> {
    /// Lines of the file above it, from the outermost to the nearest.
    pub headers: Vec<&'a str>,
    pub lines: Vec<HunkLine<'a>>,
    /// Whether its last line is the last of the file.
    pub at_end: bool,
    /// Where it begins in the patch, from 1.
    pub number: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HunkLine<'a> {
    Keep(&'a str),
    Remove(&'a str),
    Add(&'a str),
}

/// The sections of a patch, in their order; the error says what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Vec<PatchSection<'_>>, String> {
    let mut sections: Vec<PatchSection<'_>> = Vec::new();
    let lines = body(text)?;
    for (index, &(number, line)) in lines.iter().enumerate() {
        let marker = match sections.last() {
            // A line that stays begins with a blank, whatever stands behind it.
            Some(section) if section.has_hunks() => line,
            Some(_) | None => line.trim_start(),
        };
        if let Some(section) = section(marker) {
            if section.path.is_empty() {
                return Err(format!("line {number} of the patch names no file"));
            }
            sections.push(section);
            continue;
        }
        let Some(section) = sections.last_mut() else {
            if line.trim().is_empty() {
                continue;
            }
            return Err(format!(
                "line {number} of the patch is {line:?}; after \"{BEGIN}\" comes \"{ADD} PATH\", \
                 \"{UPDATE} PATH\" or \"{DELETE} PATH\""
            ));
        };
        section.take(number, line, &lines[index + 1..])?;
    }
    check(&sections)?;
    Ok(sections)
}

/// The lines between the first and the last marker, with their numbers.
fn body(text: &str) -> Result<Vec<(usize, &str)>, String> {
    let lines = (1..).zip(text.lines());
    let mut lines: Vec<(usize, &str)> = lines.collect();
    let is_blank = |(_, line): &(usize, &str)| line.trim().is_empty();
    while lines.pop_if(|last| is_blank(last)).is_some() {}
    let first = lines.iter().position(|line| !is_blank(line));
    lines.drain(..first.unwrap_or(lines.len()));
    unwrap_heredoc(&mut lines);
    if lines.first().is_none_or(|(_, line)| line.trim() != BEGIN) {
        return Err(format!("a patch begins with the line \"{BEGIN}\""));
    }
    if lines.last().is_none_or(|(_, line)| line.trim() != END) {
        return Err(format!(
            "the patch has no \"{END}\" as its last line: it was cut, or goes on behind its end; \
             write the whole patch again"
        ));
    }
    lines.remove(0);
    lines.pop();
    Ok(lines)
}

/// Takes away what some models put around a patch, as if it went to a shell.
fn unwrap_heredoc(lines: &mut Vec<(usize, &str)>) {
    let ([(_, first), ..], [.., (_, last)]) = (&lines[..], &lines[..]) else {
        return;
    };
    let Some((_, tag)) = first.split_once("<<") else {
        return;
    };
    let tag = tag.trim_matches(['-', '\'', '"', ' ']);
    if !tag.is_empty() && last.trim() == tag {
        lines.remove(0);
        lines.pop();
    }
}

/// A section that begins with this line.
fn section(line: &str) -> Option<PatchSection<'_>> {
    let update = SectionChange::Update {
        moved_to: None,
        hunks: Vec::new(),
    };
    let kinds = [
        (ADD, SectionChange::Add(Vec::new())),
        (DELETE, SectionChange::Delete),
        (UPDATE, update),
    ];
    kinds.into_iter().find_map(|(marker, change)| {
        let path = line.strip_prefix(marker)?.trim();
        Some(PatchSection { path, change })
    })
}

impl<'a> PatchSection<'a> {
    fn has_hunks(&self) -> bool {
        matches!(&self.change, SectionChange::Update { hunks, .. } if !hunks.is_empty())
    }

    fn take(&mut self, number: usize, line: &'a str, rest: &[(usize, &str)]) -> Result<(), String> {
        let path = self.path;
        match &mut self.change {
            SectionChange::Add(lines) => match line.strip_prefix('+') {
                Some(line) => lines.push(line),
                // One whose sign was lost, unless it only stands between two sections.
                None if line.trim().is_empty() => {
                    let next = rest.iter().find(|(_, line)| !line.trim().is_empty());
                    if next.is_some_and(|(_, line)| line.starts_with('+')) {
                        lines.push("");
                    }
                }
                None => {
                    return Err(format!(
                        "line {number} of the patch, in the new file {path}, is {line:?}; every \
                         line of a new file begins with +"
                    ));
                }
            },
            SectionChange::Delete if line.trim().is_empty() => {}
            SectionChange::Delete => {
                return Err(format!(
                    "line {number} of the patch follows \"{DELETE} {path}\", after which only \
                     another file or \"{END}\" may come"
                ));
            }
            SectionChange::Update { moved_to, hunks } => {
                match line.trim_start().strip_prefix(MOVE) {
                    Some(target) if hunks.is_empty() => *moved_to = Some(target.trim()),
                    Some(_) | None => take_hunk_line(path, hunks, number, line)?,
                }
            }
        }
        Ok(())
    }
}

fn take_hunk_line<'a>(
    path: &str,
    hunks: &mut Vec<PatchHunk<'a>>,
    number: usize,
    line: &'a str,
) -> Result<(), String> {
    if let Some(header) = line.strip_prefix("@@") {
        // Several in a row lead to one place.
        if hunks.last().is_none_or(|hunk| !hunk.lines.is_empty()) {
            hunks.push(PatchHunk::at(number));
        }
        if let Some(hunk) = hunks.last_mut() {
            hunk.headers.extend(header_line(header));
        }
        return Ok(());
    }
    if line.trim_end() == FILE_END {
        if let Some(hunk) = hunks.last_mut() {
            hunk.at_end = true;
        }
        return Ok(());
    }
    let (sign, text) = match line.chars().next() {
        // An empty line whose sign was lost.
        None => (' ', ""),
        Some(sign) => (sign, &line[sign.len_utf8()..]),
    };
    let line = match sign {
        ' ' => HunkLine::Keep(text),
        '-' => HunkLine::Remove(text),
        '+' => HunkLine::Add(text),
        _ => {
            return Err(format!(
                "line {number} of the patch, in {path}, is {line:?}; a line of a hunk begins with \
                 a blank if it stays, - if it goes, + if it is new, and a hunk with @@"
            ));
        }
    };
    match hunks.last_mut() {
        Some(hunk) if !hunk.at_end => hunk.lines.push(line),
        // What is between two sections.
        _ if text.trim().is_empty() && sign == ' ' => {}
        _ => hunks.push(PatchHunk {
            lines: vec![line],
            ..PatchHunk::at(number)
        }),
    }
    Ok(())
}

/// The line of the file that a header names, without the line numbers of other kinds of patches.
fn header_line(header: &str) -> Option<&str> {
    let is_range = |word: &str| {
        let digits = word.strip_prefix(['-', '+']);
        digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit() || b == b','))
    };
    let mut rest = header.trim();
    while let Some(word) = rest.split_whitespace().next()
        && (is_range(word) || word == "@@")
    {
        rest = rest[word.len()..].trim_start();
    }
    (!rest.is_empty()).then_some(rest)
}

impl PatchHunk<'_> {
    fn at(number: usize) -> Self {
        PatchHunk {
            number,
            ..PatchHunk::default()
        }
    }
}

fn check(sections: &[PatchSection<'_>]) -> Result<(), String> {
    if sections.is_empty() {
        return Err("the patch is empty; nothing to do".to_owned());
    }
    if sections.len() > SECTIONS_MAX {
        return Err(format!(
            "the patch changes more than {SECTIONS_MAX} files; make several patches"
        ));
    }
    let mut count = 0;
    for PatchSection { path, change } in sections {
        let SectionChange::Update { moved_to, hunks } = change else {
            continue;
        };
        count += hunks.len();
        if let Some(hunk) = hunks.iter().find(|hunk| hunk.lines.is_empty()) {
            let number = hunk.number;
            return Err(format!(
                "the hunk at line {number} of the patch, in {path}, has no lines"
            ));
        }
        if *moved_to == Some("") {
            return Err(format!("\"{MOVE}\" after {path} names no file"));
        }
        if hunks.is_empty() && moved_to.is_none() {
            return Err(format!(
                "\"{UPDATE} {path}\" has no hunks; nothing to do there"
            ));
        }
    }
    match count > HUNKS_MAX {
        true => Err(format!(
            "the patch has more than {HUNKS_MAX} hunks; make several patches"
        )),
        false => Ok(()),
    }
}

/// The same patch with its files below a directory, for one that was made there.
pub(crate) fn below(directory: &str, text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let trimmed = line.trim();
        let marker = [ADD, DELETE, UPDATE, MOVE]
            .into_iter()
            .find(|marker| line.starts_with("***") && trimmed.starts_with(marker));
        match marker {
            Some(marker) if !trimmed[marker.len()..].trim().starts_with('/') => {
                let path = trimmed[marker.len()..].trim();
                let end = &line[line.trim_end().len()..];
                format!("{marker} {}/{path}{end}", directory.trim_end_matches('/'))
            }
            Some(_) | None => line.to_owned(),
        }
    });
    lines.collect()
}
