#!/usr/bin/env python3
"""Draws diagnostics of `keyway check` over a corpus of real files, to be judged by hand.

    python3 bench/sample-diagnostics.py KEYWAY CORPUS [SEED]

Each repository of CORPUS/index.tsv is rebuilt at its paths and checked from its root; 100 findings are
drawn by the seed, which is printed. The last judgement is crates/keyway-lint/tests/judged-diagnostics.tsv.
"""

import collections
import csv
import json
import os
import random
import subprocess
import sys
import tempfile


def repositories(corpus):
    found = collections.defaultdict(list)
    with open(os.path.join(corpus, "index.tsv"), newline="") as index:
        for row in csv.DictReader(index, delimiter="\t", quoting=csv.QUOTE_NONE):
            found[(row["repo"], row["commit"])].append((row["id"], row["path"]))
    return sorted(found.items())


def diagnostics(keyway, corpus):
    for _, files in repositories(corpus):
        with tempfile.TemporaryDirectory() as folder:
            ids = {}
            for number, path in files:
                place = os.path.join(folder, path)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with open(os.path.join(corpus, f"{number}.json"), "rb") as source, open(place, "wb") as copy:
                    copy.write(source.read())
                ids[path] = number
            call = [keyway, "check", ".", "--format", "json"]
            home = os.path.join(folder, ".home")
            environment = {"PATH": os.environ["PATH"], "HOME": home}
            result = subprocess.run(call, cwd=folder, capture_output=True, env=environment)
            for it in json.loads(result.stdout)["diagnostics"]:
                place = it.get("source") or {}
                file = place.get("file")
                yield (ids.get(file, "?"), file, place.get("pointer"), it["severity"], it["code"],
                       it["message"], it.get("hint"))


def main():
    keyway, corpus = os.path.abspath(sys.argv[1]), sys.argv[2]
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 17
    found = sorted(diagnostics(keyway, corpus), key=lambda row: tuple(map(str, row)))
    print(f"{len(found)} diagnostics, seed {seed}")
    for number in sorted(random.Random(seed).sample(range(len(found)), 100)):
        print(number, *found[number], sep=" | ")


if __name__ == "__main__":
    main()
