"""`kvbench run`: execute a model off the board, from a file of arrays or a picture to a file of arrays."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kv260_runtime.cli.options import check_arrays, file_name, whole
from kv260_runtime.errors import ExitCode, KvbenchError, ModelRejected, printable

if TYPE_CHECKING:
    from kv260_runtime.execute import Executor
    from kv260_runtime.execute.specs import Array
    from kv260_runtime.xmodel import Graph, Subgraph

HELP = "execute a model off the board, bit for bit as the DPU would"

FIX_POINTS = "kvbench.fix_points"
"""Entry of the output file: a JSON text of fix points by tensor; real value = integer * 2 ** -fix_point."""

EPILOG = f"""\
An .npz holds one array for each input, by tensor name, as stored (int8 for fixed point), or several along axis 0.
A picture is read as RGB, letterboxed with grey 114 to the input's size, scaled and quantised (half up, saturated).
The output holds arrays by tensor name, and {FIX_POINTS!r}: a JSON text of the fix points.

  kvbench run yolov5n.xmodel --input street.jpg --output out.npz
  kvbench run yolov5n.xmodel --input in.npz --output layers.npz --tensors all --subgraph 1
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=file_name, metavar="MODEL", help="an .xmodel for DPUCZDX8G, or a quantised one")
    parser.add_argument("--input", type=file_name, required=True, metavar="FILE", help="an .npz, or a picture")
    parser.add_argument("--output", type=file_name, required=True, metavar="FILE.npz", help="replaced if it exists")
    parser.add_argument(
        "--tensors",
        default="outputs",
        metavar="all|outputs|NAME,...",
        help="what to write: the outputs, every computed tensor, or those named (default: outputs)",
    )
    parser.add_argument("--subgraph", type=whole(0, 10**6), metavar="I", help="only this top-level subgraph, from 0")
    parser.add_argument("--backend", default="auto", metavar="NAME", help="auto, onnxruntime, numpy or integer")
    parser.add_argument("--threads", type=whole(1, 256), default=os.cpu_count() or 1, metavar="N", help="default: all")
    parser.add_argument(
        "--operators",
        action="append",
        default=[],
        metavar="MODULE",
        help="a Python module to import first: it registers custom operators; may be repeated",
    )
    picture = parser.add_argument_group("pictures")
    picture.add_argument("--resize", choices=("letterbox", "stretch"), default="letterbox")
    picture.add_argument("--mean", type=_numbers, default=(0.0,), metavar="X[,Y,Z]", help="subtracted (default: 0)")
    picture.add_argument("--scale", type=_numbers, default=(1 / 255,), metavar="X[,Y,Z]", help="default: 1/255")
    picture.add_argument("--bgr", action="store_true", help="the model wants blue first")


def run(args: argparse.Namespace) -> int:
    """Execute once and write the result; nothing half-written is left behind."""
    output = output_file(args.output, (args.model, args.input))
    graph, subgraph = _read_model(args.model, args.subgraph)
    executor = _open(graph, subgraph, args)
    for note in executor.notes:
        print(f"kvbench: note: {note}", file=sys.stderr)
    results = executor.run(_inputs(executor, args))
    wanted = _names(args.tensors)
    specs = {spec.name: spec for spec in executor.outputs if wanted is None or spec.name in wanted}
    fix_points = {name: spec.fix_point for name, spec in specs.items() if spec.fix_point is not None}
    save_arrays(output, {name: results[name] for name in specs}, fix_points)
    for name, spec in specs.items():
        point = "" if spec.fix_point is None else f"  fix point {spec.fix_point}"
        print(f"{printable(name)}  {'x'.join(map(str, results[name].shape))}  {results[name].dtype}{point}")
    return ExitCode.OK


def _read_model(path: Path, index: int | None) -> tuple[Graph, Subgraph | None]:
    from kv260_runtime.model_file import open_model

    graph = open_model(path)
    if index is None:
        return graph, None
    if index >= len(graph.subgraphs):
        raise ModelRejected(f"{path}: has no subgraph {index}; it has {len(graph.subgraphs)}, counted from 0")
    return graph, graph.subgraphs[index]


def _open(graph: Graph, subgraph: Subgraph | None, args: argparse.Namespace) -> Executor:
    from kv260_runtime.execute import computed_tensors, open_executor

    for module in args.operators:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise KvbenchError(f"--operators {module}: {error}", ExitCode.USAGE) from error
        except Exception as error:
            # The user's own code: whatever it raises is its fault, not ours.
            raise KvbenchError(f"--operators {module}: {type(error).__name__}: {error}", ExitCode.USAGE) from error
    keep = computed_tensors(graph, subgraph) if args.tensors == "all" else _names(args.tensors) or ()
    return open_executor(graph, subgraph, args.backend, args.threads, keep)


def _names(tensors: str) -> list[str] | None:
    """The tensors named, or None for `all` and `outputs`."""
    if tensors in ("all", "outputs"):
        return None
    names = [name for name in tensors.split(",") if name]
    if not names:
        raise KvbenchError(f"--tensors {tensors!r}: names no tensor", ExitCode.USAGE)
    return names


def _inputs(executor: Executor, args: argparse.Namespace) -> dict[str, Array]:
    from kv260_runtime.execute.images import Preprocessing, load_image

    if not args.input.is_file():
        raise KvbenchError(f"{args.input}: no such input file", ExitCode.NO_INPUT)
    if args.input.suffix == ".npz" or zipfile.is_zipfile(args.input):
        return load_arrays(args.input)
    if len(executor.inputs) != 1:
        names = ", ".join(repr(spec.name) for spec in executor.inputs)
        raise ModelRejected(f"{args.model}: has {len(executor.inputs)} inputs ({names}); give them as an .npz")
    how = Preprocessing(args.mean, args.scale, args.bgr, args.resize == "letterbox")
    spec = executor.inputs[0]
    return {spec.name: load_image(args.input, spec, how)}


def load_arrays(path: Path) -> dict[str, Array]:
    """All arrays of an .npz; KvbenchError if one is damaged or would need pickle."""
    import numpy as np

    check_arrays(path)
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files if name != FIX_POINTS}
    except ValueError as error:
        raise KvbenchError(
            f"{path}: is no .npz of plain arrays: it holds Python objects, or an array is cut short", ExitCode.BAD_DATA
        ) from error
    except MemoryError as error:
        message = f"{path}: is no .npz of plain arrays: an array claims more than fits into memory"
        raise KvbenchError(message, ExitCode.BAD_DATA) from error
    except (OSError, zipfile.BadZipFile) as error:
        raise KvbenchError(f"{path}: is no .npz of plain arrays: damaged ({error})", ExitCode.BAD_DATA) from error


def output_file(path: Path, sources: Sequence[Path]) -> Path:
    """Where the output really goes, links followed.

    Raises KvbenchError for what a rename would destroy: a device, a pipe, a folder, the command's own model or input.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise KvbenchError(f"{path}: exists and is no ordinary file", ExitCode.CANNOT_CREATE)
    for source in sources:
        if target.exists() and source.exists() and target.samefile(source):
            raise KvbenchError(f"--output {path}: is the file that is read; name another", ExitCode.USAGE)
    return target


def save_arrays(path: Path, arrays: Mapping[str, Array], fix_points: Mapping[str, int]) -> None:
    """Write an .npz under another name beside `path` and rename it; KvbenchError if that cannot be done."""
    import numpy as np

    entries = {**arrays, FIX_POINTS: np.array(json.dumps(fix_points))}
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        file = temporary.open("xb")
    except OSError as error:
        raise KvbenchError(f"{path}: cannot be created: {error.strerror}", ExitCode.CANNOT_CREATE) from error
    try:
        with file, zipfile.ZipFile(file, "w") as archive:
            for name, values in entries.items():
                # Not numpy.savez: a tensor may be called `file`, and equal results shall give equal bytes.
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asarray(values), allow_pickle=False)
        temporary.replace(path)
    except OSError as error:
        raise KvbenchError(f"{path}: cannot be written: {error.strerror}", ExitCode.IO_ERROR) from error
    finally:
        temporary.unlink(missing_ok=True)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        values = tuple(float(item) for item in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers") from None
    if not all(math.isfinite(value) for value in values):
        raise argparse.ArgumentTypeError(f"{text!r} is not finite")
    if len(values) not in (1, 3):
        raise argparse.ArgumentTypeError(f"{text!r} has {len(values)} numbers, 1 or 3 expected")
    return values
