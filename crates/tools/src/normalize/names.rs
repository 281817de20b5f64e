//! Names of tools that models know from elsewhere.

use serde_json::{Map, Value, json};

/// What each built-in tool is called elsewhere, folded.
const TOOL_ALIASES: [(&str, &[&str]); 15] = [
    ("applyPatch", &["patch"]),
    (
        "ask",
        &[
            "askfollowupquestion",
            "askquestion",
            "askuser",
            "askuserquestion",
            "question",
            "requestuserinput",
        ],
    ),
    (
        "bash",
        &[
            "exec",
            "execcommand",
            "executecommand",
            "localshell",
            "runcommand",
            "runinterminal",
            "runshellcommand",
            "runterminalcmd",
            "runterminalcommand",
            "shell",
            "shellcommand",
            "terminal",
        ],
    ),
    (
        "edit",
        &[
            "editfile",
            "multiedit",
            "replace",
            "replaceinfile",
            "searchreplace",
            "strreplace",
        ],
    ),
    (
        "glob",
        &["filesearch", "find", "findfiles", "findpath", "globfiles"],
    ),
    (
        "grep",
        &[
            "grepsearch",
            "ripgrep",
            "rg",
            "searchcode",
            "searchfilecontent",
            "searchfiles",
            "searchtext",
        ],
    ),
    ("job", &["bashoutput", "readoutput", "writestdin"]),
    ("notebookEdit", &["editnotebook", "editnotebookcell"]),
    (
        "read",
        &[
            "cat",
            "listdir",
            "listdirectory",
            "listfiles",
            "ls",
            "openfile",
            "readfile",
            "view",
            "viewfile",
        ],
    ),
    ("skill", &["activateskill", "loadskill", "useskill"]),
    (
        "spawnAgent",
        &[
            "agent",
            "delegate",
            "delegatetask",
            "newtask",
            "spawnsubagent",
            "subagent",
            "task",
        ],
    ),
    (
        "todoWrite",
        &[
            "todo",
            "updateplan",
            "updatetodolist",
            "updatetodos",
            "writetodos",
        ],
    ),
    (
        "webFetch",
        &["fetch", "fetchurl", "fetchwebpage", "readurl"],
    ),
    // `search` alone may mean files.
    ("webSearch", &["googlewebsearch", "searchweb"]),
    (
        "write",
        &["createfile", "savefile", "writefile", "writetofile"],
    ),
];

/// One tool for several: its `command` says which.
const TEXT_EDITORS: [&str; 2] = ["strreplaceeditor", "strreplacebasededittool"];

/// What some models write before the name of a tool.
const NAMESPACES: [&str; 4] = ["functions.", "functions:", "default_api.", "default_api:"];

/// A name without case and signs.
pub fn fold(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Which of the tools `known` is meant. A name that is there means itself; one that could be two of
/// them means none.
pub(crate) fn resolve<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let is = |wanted: &str| known.clone().find(|each| *each == wanted);
    if let Some(same) = is(name) {
        return Some(same);
    }
    let bare = NAMESPACES.iter().find_map(|space| name.strip_prefix(space));
    let folded = fold(bare.unwrap_or(name));
    let mut alike = known.clone().filter(|each| fold(each) == folded);
    match (alike.next(), alike.next()) {
        (Some(one), None) => Some(one),
        (Some(_), Some(_)) => None,
        (None, _) => is(alias(&folded)?),
    }
}

fn alias(folded: &str) -> Option<&'static str> {
    let mut tools = TOOL_ALIASES.iter();
    let found = tools.find(|(_, aliases)| aliases.contains(&folded));
    found.map(|(tool, _)| *tool)
}

/// A call of a text editor as the call of the tool that does this. Its keys are understood like those
/// of any other call.
pub fn text_editor_call(name: &str, input: &Value) -> Option<(&'static str, Value)> {
    if !TEXT_EDITORS.contains(&fold(name).as_str()) {
        return None;
    }
    let mut fields = input.as_object()?.clone();
    let tool = match fields.remove("command")?.as_str()? {
        "view" => "read",
        "create" => "write",
        "str_replace" => "edit",
        _ => return None,
    };
    set_range(&mut fields);
    Some((tool, Value::Object(fields)))
}

/// `view_range` is the first and the last line, `-1` being the end of the file.
fn set_range(fields: &mut Map<String, Value>) {
    let Some(Value::Array(range)) = fields.get("view_range") else {
        return;
    };
    let line = |at: usize| range.get(at).and_then(Value::as_i64);
    let (Some(first), Some(last)) = (line(0), line(1)) else {
        return;
    };
    fields.remove("view_range");
    fields.insert("offset".to_owned(), json!(first));
    if last >= first {
        fields.insert("limit".to_owned(), json!(last - first + 1));
    }
}
