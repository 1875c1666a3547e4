"""What the unit's sandbox comes to without systemd.

`unshare --mount python sandbox.py ROOT STATE NEEDED... -- COMMAND...`, run as root. The command gets the unit's user
and groups, as sysusers.d makes them, no capability, no new privileges, its UMask and real-time limit. Everything is
read-only (ProtectSystem=strict, ProtectKernelTunables=yes) but /dev, the board's dev and run/kvbench, and STATE, which
is a memory file system of 1 MB. /tmp is empty (PrivateTmp=yes), and so are /home and /root (ProtectHome=yes); NEEDED
folders inside them (the interpreter's, this repository) are shown there all the same, because a test has its
interpreter where it has it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

UNIT = Path(__file__).parents[2] / "systemd"
HIDDEN = ("/tmp", "/home", "/root", "/run/user", "/var/tmp")
LEFT_AS_THEY_ARE = ("/dev", "/proc")
STATE_BYTES = 1 << 20


def unit(key: str) -> list[str]:
    """Values of a key of the unit."""
    text = (UNIT / "kv260-telemetry.service").read_text()
    return re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)


def mount(*words: object) -> None:
    subprocess.run(["mount", *map(str, words)], check=True)


def add_user(folder: Path) -> None:
    """Show a passwd and a group file with the unit's user and groups."""
    (folder / "etc").mkdir()
    for name in ("passwd", "group"):
        (folder / "etc" / name).write_text(Path("/etc", name).read_text())
    conf = next((UNIT / "sysusers.d").iterdir())
    subprocess.run(["systemd-sysusers", f"--root={folder}", conf], check=True, capture_output=True)
    for name in ("passwd", "group"):
        mount("--bind", folder / "etc" / name, Path("/etc", name))


def hide(needed: list[Path]) -> None:
    """Empty folders where the unit has them, with the needed ones inside."""
    kept = Path("/mnt")
    mount("-t", "tmpfs", "-o", "mode=755", "none", kept)
    places = {path: kept / str(number) for number, path in enumerate(needed)}
    for path, place in places.items():
        place.mkdir()
        mount("--rbind", path, place)
    for hidden in filter(os.path.isdir, HIDDEN):
        mount("-t", "tmpfs", "-o", f"mode={'1777' if hidden.endswith('tmp') else '755'}", "none", hidden)
    for path, place in places.items():
        if not path.exists():
            path.mkdir(parents=True)
            mount("--rbind", place, path)
    subprocess.run(["umount", "--recursive", "--lazy", kept], check=True)


def make_read_only(root: Path, state: Path) -> None:
    """Every mount but the exceptions."""
    mount("--bind", root, root)
    for writable in (root / "dev", root / "run/kvbench"):
        mount("--bind", writable, writable)
    mount("-t", "tmpfs", "-o", f"size={STATE_BYTES},mode=750", "none", state)
    exceptions = {str(state), str(root / "dev"), str(root / "run/kvbench"), "/tmp", "/var/tmp"}
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for point in points:
        left = any(point == one or point.startswith(f"{one}/") for one in LEFT_AS_THEY_ARE)
        if point not in exceptions and (not left or point == str(root)):
            mount("-o", "remount,bind,ro", point)


def main() -> None:
    """Set up and become the command."""
    words, command = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    root, state, *needed = map(Path, words)
    folder = Path("/run/kvbench-test-user")
    folder.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "none", folder)
    add_user(folder)
    hide(needed)
    make_read_only(root, state)
    user, group = unit("User")[0], unit("Group")[0]
    subprocess.run(["chown", f"{user}:{group}", state], check=True)
    os.umask(int(unit("UMask")[0], 8))
    os.chdir("/")
    subprocess.run(["prlimit", f"--pid={os.getpid()}", f"--rtprio={unit('LimitRTPRIO')[0]}"], check=False)
    groups = ",".join(unit("SupplementaryGroups")[0].split())
    capabilities = ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
    identity = [f"--reuid={user}", f"--regid={group}", f"--groups={groups}"]
    os.execvp("setpriv", ["setpriv", *identity, *capabilities, "--no-new-privs", *command])


if __name__ == "__main__":
    main()
