#!/bin/sh
# Deletes the backup files of a folder: clean.sh FOLDER
for file in "$1"/*.bak; do
    [ -e "$file" ] || continue
    rm -- "$file"
done
