python3 - <<'END'
import tomllib
text = open("service.toml").read()
data = tomllib.loads(text)
assert data == {"network": {"port": 8080, "connections": 20}, "cache": {"enabled": True, "seconds": 300}}, data
for comment in ["# The service.", "# fixed", "# at once"]:
    assert comment in text, comment
END
