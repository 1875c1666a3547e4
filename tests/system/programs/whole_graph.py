"""As the vendor's GraphRunner is used: buffers filled and read as numpy arrays.

whole_graph.py MODEL INPUT.npz OUTPUT.npz: arrays by tensor name, as stored.
"""

import sys

import numpy as np
import vitis_ai_library
import xir


def main(model, source, target):
    graph = xir.Graph.deserialize(model)
    runner = vitis_ai_library.GraphRunner.create_graph_runner(graph)
    inputs, outputs = runner.get_inputs(), runner.get_outputs()
    arrays = np.load(source)
    for buffer in inputs:
        np.asarray(buffer)[0][...] = arrays[buffer.get_tensor().name][0].astype(np.int8)
    views = [np.asarray(buffer) for buffer in outputs]
    job = runner.execute_async(inputs, outputs)
    runner.wait(job)
    np.savez(target, **{buffer.get_tensor().name: view.copy() for buffer, view in zip(outputs, views, strict=True)})
    del runner


if __name__ == "__main__":
    main(*sys.argv[1:4])
