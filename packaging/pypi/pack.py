"""Packs a folder as a wheel: pack.py FOLDER WHEEL EPOCH. The same files give the same bytes.

Writes RECORD, and keeps the executable bit of scripts, which `python3 -m zipfile` loses.
"""

import base64
import hashlib
import pathlib
import sys
import time
import zipfile

folder, wheel, epoch = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
when = time.gmtime(max(epoch, 315532800))[:6]  # zip begins in 1980
record = []


def add(archive, name, data, mode):
    info = zipfile.ZipInfo(name, when)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100000 | mode) << 16
    info.create_system = 3
    archive.writestr(info, data, compresslevel=9)


files = sorted(path for path in folder.rglob("*") if path.is_file())
# The metadata comes last, so that it can be read without the rest.
files.sort(key=lambda path: ".dist-info" in path.parts[len(folder.parts)])
with zipfile.ZipFile(wheel, "w") as archive:
    for path in files:
        name, data = path.relative_to(folder).as_posix(), path.read_bytes()
        add(archive, name, data, path.stat().st_mode & 0o777)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}\n")
    info = next(path for path in folder.iterdir() if path.name.endswith(".dist-info"))
    name = f"{info.name}/RECORD"
    record.append(f"{name},,\n")
    add(archive, name, "".join(record).encode(), 0o644)
