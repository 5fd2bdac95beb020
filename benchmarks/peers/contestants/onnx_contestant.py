"""ONNX Runtime's contestant, and with the argument `openvino` OpenVINO's: models of one operator, in ONNX; networks in
files, by OpenVINO TensorFlow's own."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

import contestant

TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "bool": TensorProto.BOOL,
         "float16": TensorProto.FLOAT16, "uint8": TensorProto.UINT8}


def nodes_of(work, shapes):
    """The operators, from inputs x0, x1, ... to outputs y0, y1, ..., and constants. Images have channels first."""
    constants = {}
    outputs = ["y0"]
    attributes = {}
    inputs = [f"x{i}" for i in range(len(shapes))]

    def constant(name, value, dtype):
        constants[name] = np.asarray(value, dtype)
        return name
    if work in ("depthwise", "grouped", "conv3d"):
        size = list(shapes[1][2:])
        op = "Conv"
        attributes = {"group": shapes[0][1] // shapes[1][1], "kernel_shape": size, "pads": 2 * [s // 2 for s in size]}
    elif work == "max_pool":
        op, attributes = "MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2]}
    elif work == "avg_pool":
        op, attributes = "AveragePool", {"kernel_shape": [2, 2], "strides": [2, 2]}
    elif work == "resize":
        op, attributes = "Resize", {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
        inputs += ["", constant("scales", [1, 1, 2, 2], np.float32)]
    elif work == "batch_norm":
        op, attributes = "BatchNormalization", {"epsilon": 1e-3}
    elif work == "softmax":
        op = "Softmax"
    elif work == "layer_norm":
        op, attributes = "LayerNormalization", {"epsilon": 1e-5}
    elif work in ("sort", "top_k"):
        op, outputs = "TopK", ["y0", "y1"]
        inputs.append(constant("k", [100 if work == "top_k" else shapes[0][-1]], np.int64))
        attributes = {"largest": int(work == "top_k")}
    elif work == "cumsum":
        op = "CumSum"
        inputs.append(constant("axis", -1, np.int64))
    elif work == "gather":
        op = "Gather"
    elif work == "quantized_matmul":
        op = "MatMulInteger"
    elif work == "scatter_add":
        op, attributes = "ScatterND", {"reduction": "add"}
        inputs[1] = "rows"
    elif work == "one_hot":
        op = "OneHot"
        inputs += [constant("depth", [256], np.int64), constant("values", [0, 1], np.float32)]
    elif work == "where":
        op = "Where"
    elif work == "nonzero":
        op = "NonZero"
    elif work == "unique":
        op, outputs, attributes = "Unique", ["y0", "", "y1"], {"sorted": 0}
    else:
        return None
    nodes = [helper.make_node(op, inputs, outputs, **attributes)]
    if work == "scatter_add":
        constant("one", [1], np.int64)
        nodes.insert(0, helper.make_node("Unsqueeze", ["x1", "one"], ["rows"]))
    return nodes, [o for o in outputs if o], constants


def onnx_order(array, form):
    """With dimensions as ONNX has them, and integers as int64."""
    if form in ("nhwc", "ndhwc"):
        array = np.moveaxis(array, -1, 1)
    elif form in ("hwio", "dhwio"):
        array = np.moveaxis(array, (-1, -2), (0, 1))
    elif form == "depthwise":
        array = np.moveaxis(array, (-2, -1), (0, 1))
    array = array.astype(np.int64) if array.dtype == np.int32 else array
    return np.ascontiguousarray(array)


def as_given(work, output, form):
    if form in ("nhwc", "ndhwc"):
        return np.moveaxis(output, 1, -1)
    return output.T if work == "nonzero" else output


def model_of(work, arrays, frozen):
    """The model, and which arrays are its inputs. `frozen`: all but the first are constants of it."""
    found = nodes_of(work, [a.shape for a in arrays])
    if not found or any(a.dtype.name not in TYPES for a in arrays):
        return None, []
    nodes, outputs, constants = found
    constants |= {f"x{i}": a for i, a in enumerate(arrays) if frozen and i > 0}
    fed = [i for i in range(len(arrays)) if f"x{i}" not in constants]
    integers = {("top_k", 1), ("sort", 1), ("nonzero", 0), ("unique", 0), ("unique", 1)}
    floats = TensorProto.FLOAT16 if arrays[0].dtype == np.float16 else TensorProto.FLOAT
    own = TensorProto.INT32 if work == "quantized_matmul" else floats
    graph = helper.make_graph(
        nodes, work,
        [helper.make_tensor_value_info(f"x{i}", TYPES[arrays[i].dtype.name], arrays[i].shape) for i in fed],
        [helper.make_tensor_value_info(o, TensorProto.INT64 if (work, i) in integers else own, None)
         for i, o in enumerate(outputs)],
        [onnx.numpy_helper.from_array(a, name) for name, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), fed


def onnxruntime_run(model, arrays, threads):
    """The model: its bytes."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, arrays)


def openvino_run(model, arrays, threads):
    """The model: its bytes, or where it is."""
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model), "CPU", {
        "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()

    def run():
        results = request.infer(arrays, share_inputs=True, share_outputs=True)
        return [results[o] for o in compiled.outputs]
    return run


def network(work, array, threads, openvino):
    file = contestant.network_file(work, "pb" if openvino else "onnx")
    run = openvino_run(str(file), [array], threads) if openvino else onnxruntime_run(str(file), {"x:0": array}, threads)
    return contestant.Workload(run, lambda results: results, lambda: [np.array(r) for r in run()])


def make(work, mode, arrays, forms, threads, openvino):
    if mode == "file":
        return network(work, arrays[0], threads, openvino)
    if mode not in ("eager", "frozen") or openvino and work == "unique":
        return None
    arrays = [onnx_order(a, f) for a, f in zip(arrays, forms)]
    model, fed = model_of(work, arrays, mode == "frozen")
    if not model:
        return None
    run = (openvino_run if openvino else onnxruntime_run)(model.SerializeToString(), {f"x{i}": arrays[i] for i in fed}, threads)
    keep = 1 if work == "sort" else None
    return contestant.Workload(run, lambda results: results,
                               lambda: [as_given(work, np.array(r), forms[0]) for r in run()[:keep]])


def main():
    threads, openvino = int(sys.argv[1]), "openvino" in sys.argv[2:]
    contestant.serve(lambda work, mode, arrays, forms: make(work, mode, arrays, forms, threads, openvino))


if __name__ == "__main__":
    main()
