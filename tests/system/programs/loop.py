"""Loops over four inputs through vart as a user's own benchmark does: loop.py MODEL COUNT."""

import sys

import numpy as np
import vart
import xir

graph = xir.Graph.deserialize(sys.argv[1])
(subgraph,) = [
    child for child in graph.get_root_subgraph().toposort_child_subgraph() if child.get_attr("device") == "DPU"
]
runner = vart.Runner.create_runner(subgraph, "run")
generator = np.random.default_rng(1)
shapes = [tuple(tensor.dims) for tensor in runner.get_input_tensors()]
inputs = [[generator.integers(-128, 128, shape, np.int8) for shape in shapes] for _ in range(4)]
outputs = [np.zeros(tuple(tensor.dims), np.int8) for tensor in runner.get_output_tensors()]
for arrays in inputs:
    runner.wait(runner.execute_async(arrays, outputs))
print("begin", flush=True)
for number in range(int(sys.argv[2])):
    runner.wait(runner.execute_async(inputs[number % 4], outputs))
    print("execution", flush=True)
print("end", flush=True)
