"""As a user of the board writes it: xir finds the DPU subgraph, vart runs it, threads have a runner each.

classify.py MODEL INPUT.npz OUTPUT.npz [THREADS]: int8 arrays by tensor name, in and out.
"""

import sys
import threading

import numpy as np
import vart
import xir


def dpu_subgraphs(graph):
    root = graph.get_root_subgraph()
    children = [] if root.is_leaf else root.toposort_child_subgraph()
    return [child for child in children if child.has_attr("device") and child.get_attr("device").upper() == "DPU"]


def run(subgraph, arrays, results, index):
    runner = vart.Runner.create_runner(subgraph, "run")
    inputs, outputs = runner.get_input_tensors(), runner.get_output_tensors()
    fed = [np.array(arrays[tensor.name], dtype=np.int8, order="C") for tensor in inputs]
    given = [np.empty(tuple(tensor.dims), dtype=np.int8, order="C") for tensor in outputs]
    job = runner.execute_async(fed, given)
    runner.wait(job)
    results[index] = {tensor.name: array for tensor, array in zip(outputs, given, strict=True)}
    del runner


def main(model, source, target, count=1):
    graph = xir.Graph.deserialize(model)
    (subgraph,) = dpu_subgraphs(graph)
    arrays = dict(np.load(source))
    results = [None] * count
    threads = [threading.Thread(target=run, args=(subgraph, arrays, results, i)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in results[1:]:
        assert all(np.array_equal(other[name], results[0][name]) for name in other)
    np.savez(target, **results[0])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
