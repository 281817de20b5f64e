//! Commands that are patches, and those that are more than that.

use super::*;

#[test]
fn a_command_that_is_only_a_patch_is_one() {
    let patch = "*** Begin Patch\n*** Add File: a\n+it's $x\n*** End Patch";
    let taken = [
        format!("apply_patch <<'EOF'\n{patch}\nEOF"),
        format!("  applypatch <<\"PATCH\"\n{patch}\nPATCH\n\n"),
        format!("apply_patch <<EOF\n{patch}\nEOF"),
        format!("apply_patch << 'EOF'\n{patch}\nEOF"),
        format!("apply_patch '{}'", patch.replace('\'', r"'\''")),
    ];
    for command in taken {
        assert_eq!(from_command(&command).as_deref(), Some(patch), "{command}");
    }
    for directory in ["sub/dir", "'sub/dir'", "\"sub/dir\"", "-- sub/dir"] {
        let command = format!("cd {directory} && apply_patch <<'EOF'\n{patch}\nEOF");
        let below = patch.replace("File: a", "File: sub/dir/a");
        assert_eq!(from_command(&command), Some(below), "{command}");
    }
    let left = [
        format!("apply_patch <<'EOF'\n{patch}\nEOF\necho done"),
        format!("echo hi; apply_patch <<'EOF'\n{patch}\nEOF"),
        format!("apply_patch <<'EOF' && cargo test\n{patch}\nEOF"),
        format!("apply_patch <<'EOF'\n{patch}\nEOF\nrm -rf x\nEOF"),
        format!("cd $DIR && apply_patch <<'EOF'\n{patch}\nEOF"),
        format!("cd a; apply_patch <<'EOF'\n{patch}\nEOF"),
        format!("apply_patches <<'EOF'\n{patch}\nEOF"),
        format!("apply_patch '{patch}'; rm x"),
        "apply_patch patch.txt".to_owned(),
        "cat <<'EOF'\nx\nEOF".to_owned(),
    ];
    for command in left {
        assert_eq!(from_command(&command), None, "{command}");
    }
}
