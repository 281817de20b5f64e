python3 - <<'END'
text = open("Köln/Übersicht.txt", encoding="utf-8").read()
assert text == "Name\tŽofie 👩‍💻\nOrt\tGroße Straße 5\nGruß\t“schön” – naïve\n", text
END
