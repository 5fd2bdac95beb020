"""Calls of ops on windows, volumes, images, colours and boxes, for op_cases.py."""

import numpy as np
import tensorflow as tf

F2, F4, F8, I4, I8, U1 = np.float16, np.float32, np.float64, np.int32, np.int64, np.uint8
INF, NAN = np.inf, np.nan
SUMS = dict(rtol=2e-6, atol=2e-6)


def numbers(*shape, dtype=F4, seed=0, low=-2.0, high=2.0):
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.round(generator.uniform(low, high, shape), 3).astype(dtype)


def sizes(*dims):
    return np.array(dims, I4)


def depthwise(cases):
    for label, x, f, attrs in (
        ("valid", (2, 4, 5, 3), (2, 3, 3, 2), dict(strides=[1, 1, 1, 1], padding="VALID")),
        ("same", (1, 5, 4, 2), (3, 2, 2, 1), dict(strides=[1, 2, 2, 1], padding="SAME")),
        (
            "explicit",
            (1, 3, 4, 2),
            (2, 2, 2, 3),
            dict(strides=[1, 1, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 0, 2, 0, 0]),
        ),
    ):
        x, f = numbers(*x), numbers(*f, seed=1)
        y = tf.raw_ops.DepthwiseConv2dNative(input=x, filter=f, **attrs).numpy()
        dy = numbers(*y.shape, seed=2)
        cases.add("DepthwiseConv2dNative", label, input=x, filter=f, **attrs, **SUMS)
        cases.add(
            "DepthwiseConv2dNativeBackpropInput",
            label,
            input_sizes=sizes(*x.shape),
            filter=f,
            out_backprop=dy,
            **attrs,
            **SUMS,
        )
        cases.add(
            "DepthwiseConv2dNativeBackpropFilter",
            label,
            input=x,
            filter_sizes=sizes(*f.shape),
            out_backprop=dy,
            **attrs,
            **SUMS,
        )


def volumes(cases):
    for label, attrs in {
        "valid": dict(strides=[1, 1, 1, 1, 1], padding="VALID"),
        "same": dict(strides=[1, 2, 1, 2, 1], padding="SAME"),
    }.items():
        x, f = numbers(2, 4, 3, 4, 2), numbers(2, 2, 3, 2, 3, seed=1)
        y = tf.raw_ops.Conv3D(input=x, filter=f, **attrs).numpy()
        dy = numbers(*y.shape, seed=2)
        cases.add("Conv3D", label, input=x, filter=f, **attrs, **SUMS)
        cases.add(
            "Conv3DBackpropInputV2",
            label,
            input_sizes=sizes(*x.shape),
            filter=f,
            out_backprop=dy,
            **attrs,
            **SUMS,
        )
        cases.add(
            "Conv3DBackpropFilterV2",
            label,
            input=x,
            filter_sizes=sizes(*f.shape),
            out_backprop=dy,
            **attrs,
            rtol=4e-6,
            atol=4e-6,
        )
        pool = dict(ksize=[1, 2, 2, 2, 1], **attrs)
        y = tf.raw_ops.MaxPool3D(input=x, **pool).numpy()
        dy = numbers(*y.shape, seed=3)
        cases.add("MaxPool3D", label, input=x, **pool)
        cases.add("MaxPool3DGrad", label, orig_input=x, orig_output=y, grad=dy, **pool, **SUMS)
        ddx = numbers(*x.shape, seed=4)
        cases.add("MaxPool3DGradGrad", label, orig_input=x, orig_output=y, grad=ddx, **pool)
        cases.add("AvgPool3D", label, input=x, **pool, **SUMS)
        cases.add("AvgPool3DGrad", label, orig_input_shape=sizes(*x.shape), grad=dy, **pool, **SUMS)


def windows(cases):
    x = np.arange(2 * 5 * 4 * 2, dtype=F4).reshape(2, 5, 4, 2)
    for label, attrs in {
        "valid": dict(ksizes=[1, 2, 3, 1], strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID"),
        "same": dict(ksizes=[1, 3, 2, 1], strides=[1, 2, 3, 1], rates=[1, 1, 1, 1], padding="SAME"),
        "rates": dict(ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 2, 3, 1], padding="SAME"),
    }.items():
        cases.add("ExtractImagePatches", label, images=x, **attrs)
    v = np.arange(2 * 3 * 4 * 3 * 2, dtype=I4).reshape(2, 3, 4, 3, 2)
    attrs = dict(ksizes=[1, 2, 2, 2, 1], strides=[1, 1, 2, 1, 1])
    for padding in ("VALID", "SAME"):
        cases.add("ExtractVolumePatches", padding, input=v, padding=padding, **attrs)
    x, f = numbers(2, 5, 4, 2, high=5), numbers(2, 3, 2, seed=1)
    for label, attrs in {
        "valid": dict(strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID"),
        "same": dict(strides=[1, 2, 1, 1], rates=[1, 1, 1, 1], padding="SAME"),
        "rates": dict(strides=[1, 1, 1, 1], rates=[1, 3, 1, 1], padding="SAME"),
    }.items():
        y = tf.raw_ops.Dilation2D(input=x, filter=f, **attrs).numpy()
        dy = numbers(*y.shape, seed=2)
        cases.add("Dilation2D", label, input=x, filter=f, **attrs)
        cases.add("Dilation2DBackpropInput", label, input=x, filter=f, out_backprop=dy, **attrs, **SUMS)
        cases.add("Dilation2DBackpropFilter", label, input=x, filter=f, out_backprop=dy, **attrs, **SUMS)
    special = np.array([NAN, -INF, INF, -3, NAN, NAN], F4).reshape(1, 1, 6, 1)
    attrs = dict(strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID")
    cases.add("Dilation2D", "special", input=special, filter=np.zeros((1, 2, 1), F4), **attrs)
    for dtype in (F2, I4, U1):
        small = np.array([1, 5, 2, 7, 3, 0], dtype).reshape(1, 2, 3, 1)
        cases.add("Dilation2D", np.dtype(dtype).name, input=small, filter=np.ones((2, 2, 1), dtype), **attrs)
    x = numbers(2, 4, 5, 3)
    x[0, 1] = x[0, 0]
    for label, attrs in {
        "valid": dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID"),
        "same": dict(ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1], padding="SAME"),
        "batch": dict(ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME", include_batch_in_index=True),
    }.items():
        y, where = tf.raw_ops.MaxPoolWithArgmax(input=x, **attrs)
        cases.add("MaxPoolWithArgmax", label, input=x, **attrs)
        dy = numbers(*y.shape, seed=5)
        cases.add("MaxPoolGradWithArgmax", label, input=x, grad=dy, argmax=where.numpy(), **attrs, **SUMS)
    cases.add("DataFormatDimMap", "default", x=np.array([0, 1, 2, 3, -1, -4], I4))
    cases.add("DataFormatDimMap", "back", x=np.array([[0, 1, -2]], I8), src_format="NCHW", dst_format="NHWC")
    cases.add("DataFormatVecPermute", "vector", x=np.array([7, 4, 9, 3], I4))
    cases.add("DataFormatVecPermute", "spatial", x=np.array([[4, 5], [6, 7]], I4))


def resizes(cases):
    modes = {"plain": {}, "corners": dict(align_corners=True), "centers": dict(half_pixel_centers=True)}
    image = numbers(2, 5, 4, 3, high=9)
    whole = numbers(1, 4, 6, 1, low=0, high=255, dtype=U1)
    for size in ((7, 9), (2, 3), (10, 1), (5, 4), (1, 1)):
        for mode, attrs in modes.items():
            label = f"{mode} {size[0]}x{size[1]}"
            dy = numbers(2, *size, 3, seed=1)
            cases.add("ResizeBilinear", label, images=image, size=sizes(*size), **attrs, **SUMS)
            cases.add("ResizeBilinearGrad", label, grads=dy, original_image=image, **attrs, **SUMS)
            cases.add("ResizeNearestNeighbor", label, images=image, size=sizes(*size), **attrs)
            cases.add("ResizeNearestNeighborGrad", label, grads=dy, size=sizes(5, 4), **attrs, **SUMS)
            cases.add("ResizeBicubic", label, images=image, size=sizes(*size), **attrs, rtol=4e-6, atol=4e-6)
            cases.add("ResizeBicubicGrad", label, grads=dy, original_image=image, **attrs, rtol=4e-6, atol=4e-6)
            if mode != "centers":
                cases.add("ResizeArea", label, images=image, size=sizes(*size), **attrs, rtol=4e-6, atol=4e-6)
    for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
        cases.add(op, "uint8", images=whole, size=sizes(7, 5), rtol=1e-5, atol=1e-5)
        cases.add(op, "float16", images=image.astype(F2), size=sizes(3, 7), rtol=1e-5, atol=1e-5)
        cases.add(op, "no images", images=image[:0], size=sizes(3, 7))
    special = np.array([INF, 1, -INF, 2], F4).reshape(1, 2, 2, 1)
    cases.add("ResizeBilinear", "special, same size", images=special, size=sizes(2, 2))
    cases.add("ResizeBilinear", "special", images=special, size=sizes(4, 4))


def crops(cases):
    image = numbers(2, 5, 6, 2, high=9)
    boxes = np.array([[0.1, 0.2, 0.8, 0.7], [0.9, 0.05, 0.3, 0.6], [-0.25, 0.3, 0.7, 1.5], [0, 0, 1, 1]], F4)
    which = np.array([1, 0, 1, 0], I4)
    for size in ((3, 4), (1, 1), (1, 5)):
        for method in ("bilinear", "nearest"):
            label = f"{method} {size[0]}x{size[1]}"
            dy = numbers(4, *size, 2, seed=1)
            cases.add(
                "CropAndResize",
                label,
                image=image,
                boxes=boxes,
                box_ind=which,
                crop_size=sizes(*size),
                method=method,
                extrapolation_value=2.5,
                rtol=1e-5,
                atol=1e-5,
            )
            cases.add(
                "CropAndResizeGradImage",
                label,
                grads=dy,
                boxes=boxes,
                box_ind=which,
                image_size=sizes(2, 5, 6, 2),
                method=method,
                T=tf.float32,
                rtol=1e-5,
                atol=1e-5,
            )
        cases.add(
            "CropAndResizeGradBoxes",
            f"{size[0]}x{size[1]}",
            grads=dy,
            image=image,
            boxes=boxes,
            box_ind=which,
            rtol=1e-4,
            atol=1e-3,
        )


def colors(cases):
    rgb = numbers(3, 4, 3, low=0, high=1, seed=3)
    rgb[0, 0], rgb[0, 1], rgb[0, 2] = 0.5, 0, [0.25, 0.75, 0.75]
    close = dict(rtol=4e-6, atol=4e-6)
    for dtype, tolerance in ((F4, close), (F8, dict(rtol=1e-13, atol=1e-13))):
        name = np.dtype(dtype).name
        cases.add("RGBToHSV", name, images=rgb.astype(dtype), **tolerance)
        cases.add("HSVToRGB", name, images=rgb.astype(dtype), **tolerance)
    outside = np.array([[[-0.5, 0.25, -1], [2, 3, 0.5], [-1, -1, -2]]], F4)
    for label, image in (("inside", rgb), ("outside", outside)):
        for amount in (0.3, -0.7, 1.5):
            cases.add("AdjustHue", f"{label} {amount}", images=image, delta=F4(amount), **close)
            cases.add("AdjustSaturation", f"{label} {amount}", images=image, scale=F4(amount), **close)
            cases.add("AdjustContrastv2", f"{label} {amount}", images=image, contrast_factor=F4(amount), **close)


def suppression(cases):
    random = np.random.RandomState(5)
    corner, size = random.uniform(0, 3, (40, 2)), random.uniform(0.2, 1.5, (40, 2))
    boxes = np.concatenate([corner, corner + size], 1).astype(F4)
    boxes[::7] = boxes[::7, [2, 3, 0, 1]]
    scores = random.permutation(40).astype(F4) / 40
    scores[3] = scores[17]
    for threshold in (0.1, 0.5, 0.9):
        for least in (0.0, 0.4):
            label = f"{threshold} {least}"
            call = dict(boxes=boxes, scores=scores, max_output_size=I4(15), iou_threshold=F4(threshold))
            cases.add("NonMaxSuppressionV3", label, **call, score_threshold=F4(least))
            cases.add("NonMaxSuppressionV4", label, **call, score_threshold=F4(least), pad_to_max_output_size=True)
            for sigma in (0.0, 0.5):
                cases.add(
                    "NonMaxSuppressionV5",
                    f"{label} {sigma}",
                    **call,
                    score_threshold=F4(least),
                    soft_nms_sigma=F4(sigma),
                    rtol=1e-6,
                    atol=1e-6,
                )
    per_class = random.permutation(2 * 20 * 3).reshape(2, 20, 3).astype(F4) / 120
    for label, attrs in {"plain": {}, "per class": dict(pad_per_class=True), "whole": dict(clip_boxes=False)}.items():
        cases.add(
            "CombinedNonMaxSuppression",
            label,
            boxes=(boxes / 3).reshape(2, 20, 1, 4),
            scores=per_class,
            max_output_size_per_class=I4(4),
            max_total_size=I4(15),
            iou_threshold=F4(0.3),
            score_threshold=F4(0.25),
            **attrs,
        )


def images(cases):
    for part in (depthwise, volumes, windows, resizes, crops, colors, suppression):
        part(cases)
