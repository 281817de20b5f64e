sed -i 's/^def around/# TODO: units?\ndef around/' shapes.py
printf '\n\ndef volume(radius):\n    ...\n' >> shapes.py
