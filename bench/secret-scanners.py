#!/usr/bin/env python3
"""Recall and precision of `keyway check` beside other scanners, over a labelled corpus, in one run.

    python3 bench/secret-scanners.py KEYWAY CORPUS [detect-secrets=PROGRAM] [secretlint=PROGRAM] [ripsecrets=PROGRAM]

Programs come from their registries (PyPI, npm, crates.io). All of them see the same folder: each repository
of CORPUS/index.tsv at its paths. A finding counts for a labelled value if it is on the line of that value;
`secret` and `varref-literal-default` are to be found, `placeholder`, `varref` and `nonsecret` are not, and
`example-credential` counts neither way. A finding on a line without a label is a false alarm.
"""

import collections
import csv
import json
import os
import subprocess
import sys
import tempfile
import time

WANTED = {"secret", "varref-literal-default"}
NEUTRAL = {"example-credential"}


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def rebuild(corpus, folder):
    """Writes the repositories; returns the folder's name of each file."""
    places = {}
    for row in rows(os.path.join(corpus, "index.tsv")):
        name = f"{row['repo'].replace('/', '+')}@{row['commit'][:12]}/{row['path']}"
        place = os.path.join(folder, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(os.path.join(corpus, row["id"] + ".json"), "rb") as source, open(place, "wb") as copy:
            copy.write(source.read())
        places[row["id"]] = name
    return places


def lines_of(corpus, places, keyway):
    """The line of each labelled value, by a reader of JSON with places: the keys of its pointer in order."""
    labels = collections.defaultdict(dict)
    for row in rows(os.path.join(corpus, "labels.tsv")):
        number, pointer, label = list(row.values())[:3]
        text = open(os.path.join(corpus, number + ".json"), encoding="utf-8-sig", errors="replace").read()
        at = 0
        for key in pointer.split("/")[1:]:
            key = key.replace("~1", "/").replace("~0", "~")
            if key.isdigit():
                continue
            found = text.find(json.dumps(key), at)
            at = found + len(key) if found >= 0 else at
        last = pointer.rsplit("/", 1)[-1]
        line = text.count("\n", 0, at) + 1
        if last.isdigit():
            # An item of a list: count strings behind the bracket.
            line = line_of_item(text, at, int(last)) or line
        labels[places[number]].setdefault(line, set()).add(label)
    return labels


def line_of_item(text, at, index):
    at = text.find("[", at)
    if at < 0:
        return None
    decoder = json.JSONDecoder()
    at += 1
    for count in range(index + 1):
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if count == index:
            return text.count("\n", 0, at) + 1
        try:
            _, at = decoder.raw_decode(text, at)
        except ValueError:
            return None
    return None


def run(words, folder):
    start = time.perf_counter()
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    return result.stdout, time.perf_counter() - start


def keyway_found(program, folder):
    words = [program, "check", ".", "--format", "json", "--select", "literal-secret,literal-default"]
    out, took = run(words, folder)
    found = set()
    for it in json.loads(out)["diagnostics"]:
        found.add((it["source"]["file"], it["source"]["line"]))
    return found, took


def detect_secrets_found(program, folder):
    out, took = run([program, "scan", "--all-files", "."], folder)
    found = set()
    for name, hits in json.loads(out)["results"].items():
        found.update((os.path.normpath(name), hit["line_number"]) for hit in hits)
    return found, took


def secretlint_found(program, folder):
    config = os.path.join(folder, ".secretlintrc.json")
    with open(config, "w") as file:
        json.dump({"rules": [{"id": "@secretlint/secretlint-rule-preset-recommend"}]}, file)
    # Behind a pipe its output is cut.
    report = os.path.join(folder, ".secretlint-report.json")
    words = [program, "--format", "json", "--output", report, "--no-glob", *files(folder)]
    _, took = run(words, folder)
    with open(report) as file:
        results = json.load(file)
    os.remove(config)
    os.remove(report)
    found = set()
    for it in results:
        name = os.path.relpath(it["filePath"], folder)
        found.update((name, hit["loc"]["start"]["line"]) for hit in it["messages"])
    return found, took


def ripsecrets_found(program, folder):
    out, took = run([program, "."], folder)
    found = set()
    for line in out.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and parts[1].isdigit():
            found.add((os.path.normpath(parts[0]), int(parts[1])))
    return found, took


def files(folder):
    for above, _, names in os.walk(folder):
        for name in names:
            if name != ".secretlintrc.json":
                yield os.path.relpath(os.path.join(above, name), folder)


SCANNERS = {
    "keyway": keyway_found,
    "detect-secrets": detect_secrets_found,
    "secretlint": secretlint_found,
    "ripsecrets": ripsecrets_found,
}


def main():
    programs = {"keyway": os.path.abspath(sys.argv[1])}
    corpus = sys.argv[2]
    for word in sys.argv[3:]:
        name, program = word.split("=", 1)
        programs[name] = os.path.abspath(program)
    print("| scanner | found | missed | false alarms | recall | precision | seconds |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        places = rebuild(corpus, folder)
        labels = lines_of(corpus, places, programs["keyway"])
        for name, program in programs.items():
            found, took = SCANNERS[name](program, folder)
            hit = missed = alarms = 0
            for file, lines in labels.items():
                for line, kinds in lines.items():
                    if kinds & WANTED:
                        hit += (file, line) in found
                        missed += (file, line) not in found
            for file, line in found:
                kinds = labels.get(file, {}).get(line, set())
                alarms += not kinds & (WANTED | NEUTRAL)
            recall = hit / max(hit + missed, 1)
            precision = hit / max(hit + alarms, 1)
            print(f"| {name} | {hit} | {missed} | {alarms} | {recall:.2f} | {precision:.2f} | {took:.2f} |")


if __name__ == "__main__":
    main()
