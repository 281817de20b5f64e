//! Names of a tool's fields that models know from elsewhere.

use serde_json::{Map, Value};

use super::names::fold;

/// What each field is called elsewhere, folded; the likeliest field first, as one name may stand for
/// several. A field counts only where the tool has it.
const KEY_ALIASES: [(&str, &[&str]); 33] = [
    (
        "filePath",
        &[
            "absolutepath",
            "dirpath",
            "file",
            "filename",
            "path",
            "targetfile",
        ],
    ),
    ("notebookPath", &["file", "filename", "filepath", "path"]),
    (
        "path",
        &[
            "cwd",
            "dir",
            "directory",
            "dirpath",
            "file",
            "filepath",
            "folder",
        ],
    ),
    (
        "cwd",
        &[
            "dir",
            "directory",
            "dirpath",
            "path",
            "workdir",
            "workingdirectory",
        ],
    ),
    ("command", &["cmd", "commandline", "script", "shellcommand"]),
    ("pty", &["tty"]),
    ("background", &["isbackground", "runinbackground"]),
    ("id", &["bashid", "job", "jobid", "sessionid", "shellid"]),
    ("seconds", &["timeout", "timeoutseconds"]),
    ("input", &["chars", "stdin", "text"]),
    (
        "pattern",
        &["globpattern", "query", "regex", "regexp", "search"],
    ),
    (
        "include",
        &[
            "fileglob",
            "filepattern",
            "glob",
            "includepattern",
            "includes",
        ],
    ),
    ("exclude", &["excludepattern", "excludes"]),
    ("mode", &["outputmode"]),
    (
        "context",
        &[
            "a",
            "aftercontext",
            "b",
            "beforecontext",
            "c",
            "contextlines",
        ],
    ),
    (
        "limit",
        &[
            "headlimit",
            "linelimit",
            "maxcount",
            "maxlines",
            "maxresults",
            "numlines",
        ],
    ),
    ("maxResults", &["count", "headlimit", "limit", "numresults"]),
    ("maxLength", &["maxchars", "maxcharacters"]),
    ("offset", &["firstline", "line", "startline"]),
    ("oldString", &["old", "oldstr", "oldtext", "search"]),
    (
        "newString",
        &["new", "newstr", "newtext", "replace", "replacement"],
    ),
    ("replaceAll", &["all", "global"]),
    ("newSource", &["content", "source"]),
    ("cellIndex", &["cell", "cellnumber", "index"]),
    ("todos", &["items", "plan", "tasks", "todolist"]),
    (
        "content",
        &["body", "contents", "filecontent", "filetext", "text"],
    ),
    ("task", &["instructions", "message", "prompt"]),
    ("kind", &["agent", "agenttype", "subagenttype", "type"]),
    ("resume", &["agentid", "id", "taskid"]),
    ("skillName", &["name", "skill"]),
    ("query", &["q", "search", "searchquery"]),
    ("options", &["choices"]),
    ("input", &["patch", "patchtext", "patchcontent", "diff"]),
];

/// The same for an entry of a plan; in other tools a description is no content.
const PLAN_ALIASES: [(&str, &[&str]); 1] =
    [("content", &["description", "step", "task", "text", "title"])];

/// Fields that say the opposite.
const OPPOSITES: [(&str, &[&str]); 1] =
    [("caseSensitive", &["caseinsensitive", "i", "ignorecase"])];

/// The field that a key means.
pub enum KeyMeaning<'a> {
    Field(&'a str),
    OppositeOf(&'a str),
}

/// What is meant by a key that the tool does not have, if that is to be known.
pub fn meant<'a>(key: &str, properties: &'a Map<String, Value>) -> Option<KeyMeaning<'a>> {
    let folded = fold(key);
    if let Some(same) = properties.keys().find(|each| fold(each) == folded) {
        return Some(KeyMeaning::Field(same));
    }
    let find = |table: &[(&str, &[&str])]| {
        let fits = |(field, aliases): &&(&str, &[&str])| {
            aliases.contains(&folded.as_str()) && properties.contains_key(*field)
        };
        let (field, _) = table.iter().find(fits)?;
        properties.keys().find(|each| each == field)
    };
    let field = match properties.contains_key("status") {
        true => find(&PLAN_ALIASES),
        false => find(&KEY_ALIASES),
    };
    match field {
        Some(field) => Some(KeyMeaning::Field(field)),
        None => find(&OPPOSITES).map(|field| KeyMeaning::OppositeOf(field)),
    }
}
