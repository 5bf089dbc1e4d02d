# Forbids `unshare` and Landlock to itself and whatever it starts, then becomes the program that its
# arguments name: a system that offers neither.
import ctypes, os, platform, struct, sys
unshare = {"x86_64": 272, "aarch64": 97}[platform.machine()]
load, equal, allow, refuse = 0x20, 0x15, 0x7fff0000, 0x00050000 | 1
forbidden = [unshare, 444, 445, 446]
lines = [(load, 0, 0, 0)]
for at, number in enumerate(forbidden):
    lines.append((equal, len(forbidden) - at, 0, number))
lines += [(6, 0, 0, allow), (6, 0, 0, refuse)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("lines", ctypes.c_void_p)]
program = Program(len(lines), ctypes.addressof(code))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
