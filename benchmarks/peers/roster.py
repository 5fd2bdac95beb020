"""The contestants: how each is compiled, started and asked for its version."""
import collections
import os
import pathlib
import re
import subprocess
import time

from race import Contestant
from workloads import ALL_LARGE, LARGE

HERE = pathlib.Path(__file__).resolve().parent
CONTESTANTS = HERE / "contestants"
OURS, TRACED, NO_CACHE, REFERENCE = "Pantograph", "traced", "no cache", "reference"
COMPILED, AHEAD = "torch.compile", "AOTInductor"
ONNX, OPENVINO = "ONNX Runtime", "OpenVINO"
LOADER = "DataLoader"  # PyTorch's, in Python
PEERS = ["PyTorch", COMPILED, AHEAD, "MLX", "JAX", "TensorFlow", "XLA", ONNX, OPENVINO, LOADER, "Eigen", "xtensor"]
# Those whose results are new memory at each run, with the memory that they could have been given: {what: who}.
TUNED = {f"{name}, tuned": name for name in ("PyTorch", "MLX", "JAX", "TensorFlow")}
# Ours first, as they are listed.
NAMES = [OURS, TRACED, NO_CACHE, *PEERS, *TUNED, REFERENCE]
ON_GPU = [OURS, TRACED, "PyTorch", "JAX"]
# Huge pages for whoever asks for much, which is never given back: glibc's allocator keeps all that is freed and takes
# none of it from the kernel directly; PyTorch has a switch of its own beside it.
TUNING = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:"
                            "glibc.malloc.top_pad=268435456:glibc.malloc.arena_max=1",
          "THP_MEM_ALLOC_ENABLE": "1"}


class Places:
    """`build`: what Meson made; `own`: what is compiled here; `venv`: where requirements.txt is installed (of a GPU,
    requirements-gpu.txt)."""

    def __init__(self, build, own, venv, gpu=False):
        self.build, self.own, self.gpu = build, own, gpu
        self.networks = own / "networks"
        self.python = venv / "bin" / "python3"
        self.packages = next(venv.glob("lib/python3*/site-packages"), venv / "absent")


Flags = collections.namedtuple("Flags", "optimization includes links")


def compiler_flags(name, places):
    """How a program with this library is compiled. Only headers are compiled for this processor: libraries choose."""
    torch, mlx = places.packages / "torch", places.packages / "mlx"
    here = ["-O3", "-march=native", "-fopenmp"]
    query = ["g++", "-print-multiarch"]
    multiarch = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    openblas = f"/usr/lib/{multiarch}/openblas-openmp"
    return {
        OURS: Flags(["-O2"], [f"-I{places.build}/gen", f"-I{places.build}/include"],
                    [f"-L{places.build}", "-lpanto", f"-Wl,-rpath,{places.build}"]),
        # Of the libraries of PyTorch's CUDA build these two, and what they need, are its CPU part.
        "PyTorch": Flags(["-O2"], [f"-isystem{torch}/include", f"-isystem{torch}/include/torch/csrc/api/include"],
                         [f"-L{torch}/lib", "-ltorch_cpu", "-lc10", "-Wl,--allow-shlib-undefined",
                          f"-Wl,-rpath,{torch}/lib:{places.packages}/nvidia/cu13/lib"]),
        "MLX": Flags(["-O2"], [f"-isystem{mlx}/include"], [f"-L{mlx}/lib", "-lmlx", f"-Wl,-rpath,{mlx}/lib"]),
        "Eigen": Flags(here, ["-isystem/usr/include/eigen3"], []),
        "xtensor": Flags([*here, "-DXTENSOR_USE_XSIMD", "-DXTENSOR_USE_OPENMP"], [],
                         [f"-L{openblas}", "-lopenblas", f"-Wl,-rpath,{openblas}"]),
        REFERENCE: Flags(here, [], ["-ldnnl"]),
    }[name]


def compiled(name, places):
    """Its program; compiled where it is older than what it is made of."""
    source = CONTESTANTS / {"PyTorch": "torch.cc", "MLX": "mlx.cc", "Eigen": "eigen.cc", "xtensor": "xtensor.cc",
                     REFERENCE: "reference.cc"}[name]
    program = places.own / f"{source.stem}_contestant"
    newest = max(p.stat().st_mtime for p in (source, *CONTESTANTS.glob("*.h"), HERE / "requirements.txt", HERE / "roster.py"))
    if not program.exists() or program.stat().st_mtime < newest:
        print(f"peers: compiling {source.name}", flush=True)
        places.own.mkdir(parents=True, exist_ok=True)
        flags = compiler_flags(name, places)
        command = ["g++", "-std=c++20", f"-I{places.build}/include", *flags.optimization, *flags.includes, str(source),
                   "-o", str(program), *flags.links]
        begin = time.time()
        if subprocess.run(command).returncode != 0:
            raise SystemExit(f"peers: {source.name} does not compile")
        os.utime(program, (begin, begin))  # what changed meanwhile is newer
    return [str(program)]


def command(name, places, threads):
    name = TUNED.get(name, name)
    if name in (OURS, TRACED, NO_CACHE):
        more = ["gpu:0"] if places.gpu else ["cpu:0", "0"] if name == NO_CACHE else []
        return [str(places.build / "benchmarks/panto_contestant"), threads, *more]
    if places.gpu:
        script = CONTESTANTS / ("torch_contestant.py" if name == "PyTorch" else "jax_contestant.py")
        return [str(places.python), str(script), "gpu"]
    if name in ("JAX", "TensorFlow", "XLA"):
        script = CONTESTANTS / ("jax_contestant.py" if name == "JAX" else "tensorflow_contestant.py")
        return [str(places.python), str(script), threads, *(["xla"] if name == "XLA" else [])]
    if name in (ONNX, OPENVINO):
        return [str(places.python), str(CONTESTANTS / "onnx_contestant.py"), threads,
                *(["openvino"] if name == OPENVINO else [])]
    if name in (COMPILED, LOADER):
        return [str(places.python), str(CONTESTANTS / "torch_contestant.py"), threads]
    if name == AHEAD:
        return [*compiled("PyTorch", places), threads, str(places.python), str(CONTESTANTS / "torch_package.py"),
                str(places.own / "packages")]
    return [*compiled(name, places), threads]


def mode(name):
    """What it is asked for, by row: our traced function does eager rows, those where the comparison is wanted."""
    if name == TRACED:
        return lambda row: "traced" if row.name in LARGE else None
    if name == NO_CACHE or name in TUNED:  # of small results nobody asks the kernel for memory
        return lambda row: row.mode if row.name in ALL_LARGE else None
    if name == AHEAD:  # packages are of functions without gradients
        return lambda row: row.mode if row.mode == "traced" else None
    if name in (COMPILED, LOADER):
        return lambda row: row.mode if (row.mode == "pipeline") == (name == LOADER) else None
    if name in ("Eigen", "xtensor"):  # what they make of small tensors is no call
        return lambda row: row.mode if row.name in ALL_LARGE else None
    return lambda row: row.mode


def make_networks(places, works):
    """The files that rows of these works in the mode `file` are of, where they are not there yet."""
    subprocess.run([str(places.python), str(HERE / "networks.py"), str(places.networks), *works], check=True)


def environment(threads, tuned=False):
    """Two threads for each library that asks its environment; the others are told in their programs. `tuned`: with
    memory as TUNING says."""
    own = {name: threads for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    # JAX would take most of a GPU's memory when it starts.
    # PyTorch compiles in its own process, whose time is known.
    return os.environ | own | {"PYTHONDONTWRITEBYTECODE": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"} | (
        TUNING if tuned else {})


def start(places, threads, names=None):
    return [Contestant(name, command(name, places, str(threads)),
                       environment(str(threads), name in TUNED) | {"PEERS_NETWORKS": str(places.networks)},
                       name == REFERENCE, mode(name))
            for name in names or (ON_GPU if places.gpu else NAMES)]


def versions(places):
    """{library: version}: as requirements.txt pins them, and what Debian has; on a GPU, what is installed."""
    if places.gpu:
        query = [str(places.python), "-c", "import jax, torch; print(torch.__version__, jax.__version__)"]
        found = subprocess.run(query, capture_output=True, text=True).stdout.split() or ["?", "?"]
        return dict(zip(("PyTorch", "JAX"), found))
    pins = dict(re.findall(r"^([\w-]+)==([\w.]+)", (HERE / "requirements.txt").read_text(), re.MULTILINE))
    found = {"PyTorch": pins["torch"], "MLX": pins["mlx"], "JAX": pins["jax"], "TensorFlow": pins["tensorflow-cpu"],
             ONNX: pins["onnxruntime"], OPENVINO: pins["openvino"]}
    for name, package in {"Eigen": "libeigen3-dev", "xtensor": "libxtensor-dev", "oneDNN": "libdnnl-dev"}.items():
        query = ["dpkg-query", "-W", "-f", "${Version}", package]
        found[name] = subprocess.run(query, capture_output=True, text=True).stdout or "?"
    return found
