python3 - <<'END'
lines = [f"[{n:05}] compiling src/part_{n % 97}/unit_{n}.c ... ok" for n in range(9000)]
lines[3571] = "[03571] src/io/ring.c:88: error: undeclared name 'buffer_sise'"
for n in range(8200, 8260):
    lines[n] = f"[{n:05}] linking part_{n % 97}: cannot use ring.o"
lines[-1] = "[08999] job failed: 60 parts were not linked"
open("build.log", "w").write("\n".join(lines) + "\n")
END
