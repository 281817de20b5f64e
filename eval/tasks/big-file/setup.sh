python3 - <<'END'
import json
rows = [json.dumps({"id": n, "name": f"Station {n}", "height": n * 7 % 3000}) for n in range(6000)]
open("stations.json", "w").write("[\n  " + ",\n  ".join(rows) + "\n]\n")
END
