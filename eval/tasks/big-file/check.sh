python3 - <<'END'
import json, subprocess
text = open("stations.json").read()
old = subprocess.run(["git", "show", "HEAD:stations.json"], capture_output=True, text=True).stdout
stations = json.loads(text)
assert [s["height"] for s in stations if s["id"] == 4711] == [812]
different = [(a, b) for a, b in zip(old.splitlines(), text.splitlines()) if a != b]
assert len(different) == 1 and len(old.splitlines()) == len(text.splitlines()), different
END
